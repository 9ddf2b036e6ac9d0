-- Chunk: how a queue is put right after a script that changes it has failed half-way, in bounded steps, which are noted in the
-- counter work like those of a change of settings. What was appended and not counted was not answered: it is taken back. All
-- indexes and counts are made anew from what is stored of each message.
-- include: queue_moves
-- include: queue_walk

local REPAIR_SCAN = 500 -- fields of a hash that one step looks at, about

-- lanes_later has messages listed as in a queue without lanes: lanes are laid when all of them are.
local function lanes_later() settings.has_lanes, settings.has_groups, settings.mode = false, false, STANDARD end

-- take_back removes what lies in the stream from a sequence on, and forgets that it was moved here.
local function take_back(from)
  for _, entry in ipairs(redis.call('XRANGE', key.messages, text(from), '+')) do
    local origin = facts_of(entry)[6]
    if origin ~= '' and redis.call('HGET', key.moved_in, origin) == text(seq_of(entry)) then
      redis.call('HDEL', key.moved_in, origin)
    end
    redis.call('XDEL', key.messages, entry[1])
  end
end

-- take_back_arrival forgets the id of a move whose messages were not counted. See queue_move_insert.lua.
local function take_back_arrival()
  local from, id = string.match(redis.call('HGET', key.counters, 'pending') or '', '^(%d+) (.+)$')
  if from and tonumber(from) == counters.next then
    redis.call('ZREM', key.arrivals, id)
  end
  redis.call('HDEL', key.counters, 'pending')
end

-- last_given is the sequence of the last entry that the stream ever had; 0 if it never had one.
local function last_given()
  if redis.call('EXISTS', key.messages) == 0 then
    return 0
  end
  local info = redis.call('XINFO', 'STREAM', key.messages)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then
      return tonumber(string.match(info[i + 1], '^%d+'))
    end
  end
end

-- last_kept is the highest sequence of the messages that are kept apart; 0 if there are none.
local function last_kept()
  local member = redis.call('ZREVRANGE', key.kept, 0, 0)[1]
  return member and tonumber(string.sub(member, 1, 16)) or 0
end

-- first_free is the first sequence that was never given out, as far as is known from what is stored.
local function first_free() return math.max(last_given(), last_kept()) + 1 end

-- start_repair takes back, clears what is made anew, and sees to it that no number is given out twice.
local function start_repair()
  local first = counters.next
  take_back_arrival()
  take_back(first)
  if redis.call('EXISTS', key.messages) == 1 then
    redis.call('XTRIM', key.messages, 'MINID', text(last_kept() + 1)) -- those before it are kept apart already
  end
  counters.next = math.max(first, first_free())
  for _, id in ipairs(redis.call('HKEYS', key.moves)) do
    counters.moves = math.max(counters.moves, tonumber(string.match(id, '%d+$')))
  end
  redis.call('UNLINK', key.by_age, key.by_lane, key.leases, key.delays, key.expiring, key.dead, key.groups, key.names,
    key.servable, key.spent, key.order)
  for _, name in ipairs({ 'ready', 'leased', 'delayed', 'dead', 'expiring', 'bytes', 'leased_bytes', 'dead_bytes' }) do
    counters[name] = 0
  end
  counters.kept, ends_changed = redis.call('ZCARD', key.kept), true
  counters.work = string.format('known 0 %d %d', first, counters.next)
end

-- forget_taken forgets which of the sequences from one up to another were sent under a key: they were taken back. seq_in is the
-- sequence in what is remembered. It returns where to go on, or nil.
local function forget_taken(table, ends, cursor, first, behind, seq_in)
  if first == behind then
    return nil
  end
  local found = redis.call('HSCAN', table, cursor, 'COUNT', REPAIR_SCAN)
  for i = 1, #found[2], 2 do
    local seq = seq_in(found[2][i], found[2][i + 1])
    if seq and seq >= first and seq < behind then
      redis.call('HDEL', table, found[2][i])
      redis.call('ZREM', ends, found[2][i])
    end
  end
  return found[1] ~= '0' and found[1] or nil
end

local function seq_of_dedup(field, value) return string.sub(field, 1, 1) == 'd' and tonumber(value) end

local function seq_of_once(_, value) return cmsgpack.unpack(value)[2] end

-- held_by_moves are the sequences of messages that moves have taken out.
local function held_by_moves()
  local held = {}
  for _, id in ipairs(redis.call('HKEYS', key.moves)) do
    for _, seq in ipairs(find_intent(id).seqs) do
      held[seq] = true
    end
  end
  return held
end

-- recount lists and counts messages from a sequence on. One that no move has taken out is what it was before.
local function recount(from)
  local held = held_by_moves()
  return walk(from, SWEEP_LIMIT, function(m)
    counters.token = math.max(counters.token, m.token)
    if m.state == MOVING and not held[m.seq] then
      m.state, m.was = m.was, 0
      keep(m)
    end
    if m.state ~= MOVING then
      counters.bytes = counters.bytes + m.size
      enter(m)
    end
    if m.stored then
      put(key.order, m.seq, m.id)
    end
  end)
end

-- drop_strays removes records of messages that are not there.
local function drop_strays(cursor)
  local found = redis.call('HSCAN', key.touched, cursor, 'COUNT', REPAIR_SCAN)
  for i = 1, #found[2], 2 do
    if not redis.call('ZSCORE', key.order, found[2][i]) then
      redis.call('HDEL', key.touched, found[2][i])
      redis.call('HDEL', key.visits, found[2][i])
    end
  end
  return found[1]
end

-- repair does the step that is noted as what is left to do; it returns false if that is none of its own.
local function repair(what, from)
  local has_lanes = settings.has_lanes
  lanes_later()
  if what == 'repair' then
    start_repair()
  elseif what == 'known' or what == 'once' then
    local cursor, first, behind = string.match(from, '^(%d+) (%d+) (%d+)$')
    local on = what == 'known'
      and forget_taken(key.known, key.known_ends, cursor, tonumber(first), tonumber(behind), seq_of_dedup)
    if what == 'once' then
      on = forget_taken(key.once, key.once_ends, cursor, tonumber(first), tonumber(behind), seq_of_once)
    end
    if on then
      counters.work = what .. ' ' .. on .. ' ' .. first .. ' ' .. behind
    else
      counters.work = what == 'known' and 'once 0 ' .. first .. ' ' .. behind or 'count 1'
    end
  elseif what == 'count' then
    local next = recount(tonumber(from))
    counters.work = next > 0 and 'count ' .. text(next) or 'strays 0'
  elseif what == 'strays' then
    local cursor = drop_strays(from)
    counters.work = cursor ~= '0' and 'strays ' .. cursor or has_lanes and 'lay 1' or ''
    if counters.work == '' then
      announce()
    end
  else
    return false
  end
  return true
end
