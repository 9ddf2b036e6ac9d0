#!lua flags=allow-oom
-- Lists groups with messages by name.
-- KEYS: those of the queue. ARGV: as for every queue, with an empty revision, then
--   5  1 if after a name, 6 that name, 7 how many at most
-- Returns {now, 1, commit, last name looked at, 1 if there may be more, groups}: name, ready, leased, delayed, dead, head or 0, tick of
-- the ready message that is next or -1, until when it is locked or 0.
-- include: queue_begin

-- head_of is what a group would give next: sequence and tick.
local function head_of(g)
  local seq = first_of(g)
  return seq, find(seq).avail
end

-- lock_of is the first message that locks a FIFO group, and when the last of them ends; with tail only the first counts.
local function lock_of(g)
  if settings.tail > 0 then
    local first = blocker(g)
    return first, find(first).due
  end
  local lane = LOCKS .. digits(g.number)
  local first, ends
  for _, member in ipairs(ask('ZRANGEBYLEX', key.by_lane, '[' .. lane, '[' .. lane .. '\255')) do
    local m = find(seq_in(member))
    first, ends = first or m.seq, math.max(ends or 0, m.due)
  end
  return first, ends
end

local function describe(name, g)
  local head, avail, ends = 0, -1, 0
  if g.ready > 0 then
    head, avail = head_of(g)
  end
  if locked(g) then
    head, ends = lock_of(g)
  end
  return { name, g.ready, g.leased, g.delayed, g.dead, head, avail, ends }
end

local early = begin()
if early then
  return early
end
local limit = math.min(tonumber(ARGV[7]), SWEEP_LIMIT)
local from = ARGV[5] == '1' and '(' .. ARGV[6] or '-'
local list = ask('ZRANGEBYLEX', key.names, from, '+', 'LIMIT', 0, limit)
local reply = { now, 1, made(), list[#list] or '', #list == limit and 1 or 0 }
for _, name in ipairs(list) do
  local g = find_group(name)
  if g.ready + g.leased + g.delayed + g.dead > 0 then -- else its messages are moving
    reply[#reply + 1] = describe(name, g)
  end
end
return reply
