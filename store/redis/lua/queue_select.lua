-- Chunk: the messages that a selection chooses. In ARGV it is
--   states as a sum of 1 ready, 2 delayed, 4 leased, 8 dead (0 for all), 1 if by group, group, consumer (empty for any), available
--   before (ms, empty for any), first sequence, last sequence (0 for none), number of sequences (empty for any), sequences
-- include: queue_walk

local LOOK_LIMIT = 2000 -- messages that one call looks at, at least
local FLAGS = { [READY] = 1, [DELAYED] = 2, [BACKOFF] = 2, [LEASED] = 4, [DEAD] = 8 }

local function has_flag(set, flag) return math.floor(set / flag) % 2 == 1 end

local function read_selection(at)
  local sel = {
    states = tonumber(ARGV[at]), group = ARGV[at + 1] == '1' and ARGV[at + 2] or nil, consumer = ARGV[at + 3],
    before = tonumber(ARGV[at + 4]), from = math.max(tonumber(ARGV[at + 5]), 1), up_to = tonumber(ARGV[at + 6]),
  }
  if ARGV[at + 7] ~= '' then
    sel.seqs = {}
    for i = 1, tonumber(ARGV[at + 7]) do
      sel.seqs[i] = tonumber(ARGV[at + 7 + i])
    end
  end
  return sel
end

local function chosen(sel, m)
  if m.state == MOVING or m.seq < sel.from or sel.up_to > 0 and m.seq > sel.up_to then
    return false
  end
  if sel.states > 0 and not has_flag(sel.states, FLAGS[m.state]) then
    return false
  end
  if sel.group and m.group ~= sel.group then
    return false
  end
  if sel.consumer ~= '' and (m.state ~= LEASED or m.consumer ~= sel.consumer) then
    return false
  end
  return not sel.before or (m.avail > 0 and m.avail or tick(clocks.in_elapsed(m.due))) * TICK < sel.before
end

-- each_listed calls f with those of the listed sequences that are there.
local function each_listed(sel, limit, f)
  local looked = 0
  load(sel.seqs)
  for _, seq in ipairs(sel.seqs) do
    if seq >= sel.from then
      if looked >= limit then
        return seq
      end
      looked = looked + 1
      local m = find(seq)
      if m and f(m) then
        return seq + 1
      end
    end
  end
  return 0
end

-- each_touched calls f with the messages that have a record: few, in a long queue.
local function each_touched(from, limit, f)
  local seqs = ask('ZRANGEBYSCORE', key.order, from, '+inf', 'LIMIT', 0, limit + 1)
  for i, id in ipairs(seqs) do
    seqs[i] = tonumber(id)
  end
  load(seqs)
  for i = 1, math.min(#seqs, limit) do
    if f(find(seqs[i])) then
      return seqs[i] + 1
    end
  end
  return seqs[limit + 1] or 0
end

-- choose lists up to limit messages in the order of their sequences, of up to so many bytes but at least one, and where to
-- go on; 0 when nothing is left.
local function choose(sel, limit, max_bytes)
  local list, bytes, stopped = {}, 0, 0
  local function look(m)
    if sel.up_to > 0 and m.seq > sel.up_to then
      stopped = nil
      return true
    end
    if not chosen(sel, m) then
      return false
    end
    if #list == limit or #list > 0 and max_bytes and bytes + m.size > max_bytes then
      stopped = m.seq
      return true
    end
    bytes = bytes + m.size
    list[#list + 1] = m
    return false
  end
  local next
  if sel.seqs then
    next = each_listed(sel, LOOK_LIMIT + limit, look)
  elseif sel.consumer ~= '' or sel.states > 0 and not has_flag(sel.states, 1) then
    next = each_touched(sel.from, LOOK_LIMIT + limit, look)
  else
    next = walk(sel.from, LOOK_LIMIT + limit, look)
  end
  if stopped == nil then
    return list, 0
  end
  return list, stopped > 0 and stopped or next
end
