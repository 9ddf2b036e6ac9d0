#!lua flags=allow-oom
-- The first step of a move, in the source: takes messages that are selected and not leased out of everything, as moving.
-- KEYS: those of the source. ARGV: as for every queue, with an empty revision, then
--   5  target, 6 how many at most, 7 label, 8 1 if they are new in the target
--   9  1 if the content of the one message is replaced, 10 by what size, 11 and body
--   12 1 to take dead messages, the oldest first, whatever the selection says
--   13 when the move was noted by move_note
--   14… the selection, see queue_select.lua
-- Returns {now, 1, commit, id, where to go on or 0, intent}; the id is empty when there were none, and "late" when the move was
-- noted too long ago.
-- include: queue_begin
-- include: queue_select
-- include: queue_moves

local MOVE_BYTES = 4194304 -- of the sizes of what one call moves, but one message

-- oldest_dead lists dead messages as choose does.
local function oldest_dead(limit)
  local list, bytes = {}, 0
  local dead = redis.call('ZRANGE', key.dead, 0, limit)
  if counters.dead > 0 and not dead[1] then
    lost('dead')
  end
  for _, id in ipairs(dead) do
    local m = record_of(tonumber(id))
    if #list == limit or #list > 0 and bytes + m.size > MOVE_BYTES then
      return list, 1
    end
    bytes = bytes + m.size
    list[#list + 1] = m
  end
  return list, 0
end

local function movable(limit)
  if ARGV[12] == '1' then
    return oldest_dead(limit)
  end
  local sel = read_selection(14)
  if sel.states == 0 then
    sel.states = 15
  end
  if has_flag(sel.states, 4) then
    sel.states = sel.states - 4 -- not the leased ones
  end
  if sel.states == 0 then
    return {}, 0
  end
  return choose(sel, limit, MOVE_BYTES)
end

local function mark(m)
  local due = m.due
  leave(m)
  m.state, m.was, m.due = MOVING, m.state, due
  counters.bytes = counters.bytes - m.size
  keep(m)
end

local early = begin()
if early then
  return early
end
if not noted_lately(ARGV[13]) then
  return { now, 1, made(), 'late', 0 }
end
local list, next = movable(math.min(tonumber(ARGV[6]), SWEEP_LIMIT))
if #list == 0 then
  return { now, 1, made(), '', next }
end
local seqs = {}
for i, m in ipairs(list) do
  mark(m)
  seqs[i] = m.seq
end
local id = save_intent({
  target = ARGV[5], label = ARGV[7], renewed = ARGV[8], replaced = ARGV[9], size = ARGV[10], body = ARGV[11], seqs = seqs,
})
return { now, 1, made(), id, next, show_intent(find_intent(id)) }
