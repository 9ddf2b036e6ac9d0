-- Chunk: one message, and the states it goes through. A message that has no record is fresh: ready since it was sent.
-- include: queue_lanes

local GIVEN_BACK, RAN_OUT, REJECTED = 1, 2, 3 -- how a delivery ended
local ACKED, AGED, EVICTED, MOVED_AWAY, PURGED = 1, 2, 3, 4, 5 -- how a message left
local MAX_VISITS = 15
local LAST = 9007199254740992 -- 2^53: sequences are below

local messages = {} -- by sequence, those that this call looked at; false if there is none
local entries = {} -- by sequence, what is stored of those
local unwritten = {} -- sequences of messages whose records changed
local deleted = {} -- sequences of messages whose entries are to be deleted
local departures = {} -- of messages that left, to be remembered

-- Records that are written and read often are packed from values, with the head of a list of so many before them: to make
-- a list of them takes several times as long.
local LIST_OF_16, LIST_OF_7 = '\220\0\16', '\151'

-- pack_touched is the record of a message; the quick calls know the order of its values, too.
local function pack_touched(m)
  return LIST_OF_16
    .. cmsgpack.pack(
      m.state, m.due, m.since, m.token, m.avail, m.entered, m.consumer, m.reason, m.visited,
      m.size, m.group, m.priority, m.expires, m.from, m.was, m.extended
    )
end

-- A message is a table of these fields, of which the last four are there only when they are not as here. Sixteen fields make
-- a table half as large as more do.
--   seq, id (the same as 16 digits), state
--   due        end of the delay or lease
--   since      when its last lease began
--   token      of its last delivery; 0 if there was none
--   avail      tick of first availability; 0 while it never was
--   entered    deliveries since it came to the queue
--   consumer   who holds it, or held it last
--   size, group, priority, expires
--   from       where it was first sent, if it was moved here
--   stored     it has a record
local RARE = {
  __index = {
    reason = '', -- why it was last given back
    visited = 0, -- 1 if some of its deliveries ended
    was = 0, -- the state it was in before it was moving
    extended = 0, -- 1 if its last lease was given another end
  },
}

local function unpack_touched(seq, packed)
  local state, due, since, token, avail, entered, consumer, reason, visited, size, group, priority, expires, from, was, extended =
    cmsgpack.unpack(string.sub(packed, #LIST_OF_16 + 1))
  local m = setmetatable({
    seq = seq, id = digits(seq), state = state, due = due, since = since, token = token, avail = avail, entered = entered,
    consumer = consumer, size = size, group = group, priority = priority, expires = expires, from = from, stored = true,
  }, RARE)
  if reason ~= '' then m.reason = reason end
  if visited ~= 0 then m.visited = visited end
  if was ~= 0 then m.was = was end
  if extended ~= 0 then m.extended = extended end
  return m
end

-- Messages that stay long are kept apart from the stream, see make_dense: those with the lowest sequences.
local function pack_kept(entry) return cmsgpack.pack(entry[2]) end

-- read_kept reads entries that are kept apart, from one sequence to another, and adds them to a list.
local function read_kept(list, first, last, limit)
  if counters.kept > 0 then
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', key.kept, first, last, 'LIMIT', 0, limit)) do
      local id = string.sub(member, 1, 16)
      list[#list + 1] = { id, cmsgpack.unpack(string.sub(member, 17)) }
    end
  end
  return list
end

local function seq_of(entry) return tonumber(string.match(entry[1], '^%d+')) end

-- load_run reads what is stored of the messages from one sequence to another.
local function load_run(first, last)
  local list = redis.call('XRANGE', key.messages, text(first), text(last))
  if #list == last - first + 1 then
    for i, entry in ipairs(list) do
      entries[first + i - 1] = entry
    end
    return
  end
  read_kept(list, first, last, last - first + 1)
  for _, entry in ipairs(list) do
    entries[seq_of(entry)] = entry
  end
end

-- entry_of is what is stored of a message: id and fields; nil if there is none.
local function entry_of(seq)
  if not entries[seq] then
    load_run(seq, seq)
  end
  return entries[seq]
end

-- load_entries reads what is stored of several messages; a run of sequences at once.
local function load_entries(seqs)
  local i = 1
  while i <= #seqs do
    local last = i
    while seqs[last + 1] == seqs[last] + 1 do
      last = last + 1
    end
    load_run(seqs[i], seqs[last])
    i = last + 1
  end
end

-- facts_of are what does not change of a message: size, when it came to this queue, group, priority, end of the time to live,
-- where it was first sent and what else is known of its past.
local function facts_of(entry) return cmsgpack.unpack(entry[2][4]) end

-- fresh is a message without a record, from what is stored of it.
local function fresh(seq, entry)
  local f = facts_of(entry)
  return setmetatable({
    seq = seq, id = digits(seq), state = READY, due = 0, since = 0, token = 0, avail = tick(f[2]), entered = 0, consumer = '',
    size = f[1], group = f[3], priority = f[4], expires = f[5], from = f[6], stored = false,
  }, RARE)
end

-- find is a message in any state; nil if there is none.
local function find(seq)
  if seq < 1 or seq >= LAST then
    return nil
  end
  local m = messages[seq]
  if m == nil then
    local packed = redis.call('HGET', key.touched, digits(seq))
    if packed then
      m = unpack_touched(seq, packed)
    else
      local entry = entry_of(seq)
      m = entry and fresh(seq, entry) or false
    end
    messages[seq] = m
  end
  return m or nil
end

-- record_of is a message that has a record; nil if there is none.
local function record_of(seq)
  local m = find(seq)
  return m and m.stored and m or nil
end

-- load reads several messages at once; those that are fresh only if what is stored of them was read.
local function load(seqs)
  local ids, missing = {}, {}
  for _, seq in ipairs(seqs) do
    if messages[seq] == nil and seq >= 1 and seq < LAST then
      ids[#ids + 1], missing[#missing + 1] = digits(seq), seq
    end
  end
  local n = 0
  in_parts(ids, function(...)
    for _, packed in ipairs(redis.call('HMGET', key.touched, ...)) do
      n = n + 1
      local seq = missing[n]
      if packed then
        messages[seq] = unpack_touched(seq, packed)
      elseif entries[seq] then
        messages[seq] = fresh(seq, entries[seq])
      end
    end
  end)
end

local INDEXES = {
  [READY] = key.by_age, [LEASED] = key.leases, [DELAYED] = key.delays, [BACKOFF] = key.delays, [DEAD] = key.dead,
}

local COUNTED = { [READY] = 'ready', [LEASED] = 'leased', [DELAYED] = 'delayed', [BACKOFF] = 'delayed', [DEAD] = 'dead' }

local function may_lapse(state) return state == READY or state == DELAYED or state == BACKOFF end

-- count notes that a message is (by 1) or is no more (by -1) in its state.
local function count(m, by)
  local counter = COUNTED[m.state]
  counters[counter] = counters[counter] + by
  if m.expires > 0 and may_lapse(m.state) then
    counters.expiring = counters.expiring + by
  end
  if m.state == LEASED then
    counters.leased_bytes = counters.leased_bytes + by * m.size
  elseif m.state == DEAD then
    counters.dead_bytes = counters.dead_bytes + by * m.size
  end
  tally(m, by)
end

-- leave takes a message out of the state it is in.
local function leave(m)
  local id, listed = m.id, lane_member(m)
  drop(INDEXES[m.state], id)
  if listed then
    drop(key.by_lane, listed)
  end
  if m.expires > 0 and may_lapse(m.state) then
    drop(key.expiring, id)
  end
  count(m, -1)
  m.due = 0
end

local function list_in_lane(m)
  local listed = lane_member(m)
  if listed then
    put(key.by_lane, 0, listed)
  end
end

-- enter lists a message in the state it is in.
local function enter(m)
  local id = m.id
  if m.state == READY or m.state == DEAD then
    put(INDEXES[m.state], m.avail, id)
  else
    put(INDEXES[m.state], m.due, id)
  end
  list_in_lane(m)
  if m.expires > 0 and may_lapse(m.state) then
    put(key.expiring, m.expires, id)
  end
  count(m, 1)
end

-- keep notes that the record of a message is to be written.
local function keep(m)
  if not m.stored then
    put(key.order, m.seq, m.id)
    m.stored = true
  end
  unwritten[m.seq] = true
end

-- within cuts a lease or delay off where the retention of the message ends.
local function within(m, due)
  if settings.retains > 0 and m.avail > 0 and expiry(m.avail) < clocks.in_elapsed(due) then
    return expiry(m.avail)
  end
  return due
end

local function become(m, state, due)
  m.state, m.due = state, due
  enter(m)
  keep(m)
end

-- These change a message that was taken out of its state.
local function set_ready(m, at)
  if m.avail == 0 then
    m.avail = tick(at)
  end
  become(m, READY, 0)
end

local function set_delayed(m, state, due) become(m, state, within(m, due)) end

local function set_leased(m, due) become(m, LEASED, within(m, due)) end

local function set_dead(m)
  if m.avail == 0 then
    m.avail = tick(now)
  end
  become(m, DEAD, 0)
end

-- A message is used up when it had all the deliveries it may have here.
local function used_up(m) return settings.max_receives > 0 and m.entered >= settings.max_receives end

local function visits_of(m)
  local packed = m.visited > 0 and redis.call('HGET', key.visits, m.id)
  return packed and cmsgpack.unpack(packed) or {}
end

-- leave_visit notes how the present delivery of a message ended. Five values each: from, to, consumer, how, reason.
local function leave_visit(m, to, how, reason)
  local list = visits_of(m)
  while #list >= 5 * MAX_VISITS do
    for _ = 1, 5 do
      table.remove(list, 1)
    end
  end
  for _, v in ipairs({ m.since, to, m.consumer, how, reason }) do
    list[#list + 1] = v
  end
  redis.call('HSET', key.visits, m.id, cmsgpack.pack(list))
  m.visited = 1
end

-- lease hands out a ready message.
local function lease(m, token, deadline, consumer)
  leave(m)
  m.token, m.since, m.consumer, m.entered, m.extended = token, now, consumer, m.entered + 1, 0
  set_leased(m, deadline)
  if settings.limited > 0 then
    counters.ahead, counters.ahead_ns =
      spend(counters.ahead, counters.ahead_ns, settings.interval, settings.interval_ns)
  end
  if settings.has_groups then
    local g = find_group(m.group)
    counters.turns = counters.turns + 1
    g.turn = counters.turns
    if settings.group_limited > 0 then
      g.ahead, g.ahead_ns = spend(g.ahead, g.ahead_ns, settings.group_interval, settings.group_interval_ns)
    end
  end
end

-- note_departure remembers a message that is about to be removed, if the settings say so.
local function note_departure(m, how)
  if settings.history > 0 then
    departures[#departures + 1] = cmsgpack.pack({
      m.seq, m.from, now, how, m.avail, m.entered, m.token, m.since, m.consumer, m.reason, m.group, m.priority,
      m.expires, visits_of(m),
    })
  end
end

-- erase removes a message in any state.
local function erase(m, how)
  note_departure(m, how)
  if m.state ~= MOVING then
    counters.bytes = counters.bytes - m.size
    leave(m)
  end
  deleted[#deleted + 1] = m.seq
  if m.stored then
    drop(key.order, m.id)
    unwritten[m.seq] = true
  end
  if m.visited > 0 then
    redis.call('HDEL', key.visits, m.id)
  end
  -- One that was moved from this queue to itself has its entry already, under its new sequence.
  if m.from ~= '' and redis.call('HGET', key.moved_in, m.from) == text(m.seq) then
    redis.call('HDEL', key.moved_in, m.from)
  end
  if settings.has_groups then
    quit(m.group)
  end
  messages[m.seq] = false
end

-- lapse makes a message dead whose time to live has ended.
local function lapse(m)
  leave(m)
  m.reason = 'expired'
  set_dead(m)
end

-- add appends a message under the next sequence, to be ready at a time. It returns the sequence.
local function add(size, group, priority, expires, from, due, body, origin)
  local seq = counters.next
  counters.next, counters.bytes = seq + 1, counters.bytes + size
  local facts = LIST_OF_7 .. cmsgpack.pack(size, now, group, priority, expires, from, origin)
  redis.call('XADD', key.messages, text(seq) .. '-1', 'body', body, 'facts', facts)
  if from ~= '' then
    redis.call('HSET', key.moved_in, from, text(seq))
  end
  if due <= now and not settings.has_lanes then
    local id = digits(seq)
    put(key.by_age, tick(now), id)
    counters.ready = counters.ready + 1
    if expires > 0 then
      put(key.expiring, expires, id)
      counters.expiring = counters.expiring + 1
    end
    return seq
  end
  local m = setmetatable({
    seq = seq, id = digits(seq), state = READY, due = 0, since = 0, token = 0, avail = 0, entered = 0, consumer = '',
    size = size, group = group, priority = priority, expires = expires, from = from, stored = false,
  }, RARE)
  if due > now then
    messages[seq] = m
    become(m, DELAYED, due)
  else
    m.avail = tick(now)
    enter(m)
  end
  return seq
end

-- shown is what a receiver sees of a message: sequence, deliveries, tick of first availability, body and facts as they are
-- stored.
local function shown(m)
  local fields = entry_of(m.seq)[2]
  return { m.seq, m.entered, m.avail, fields[2], fields[4] }
end

local STREAM_NODE = 4096 -- bytes in a node of a stream, unless the server is told otherwise

-- make_dense keeps some of the oldest entries apart if few are left in each node of the stream: a node stays as large as it
-- was until its last entry leaves.
local function make_dense()
  local info = redis.call('XINFO', 'STREAM', key.messages)
  local fact = {}
  for i = 1, #info, 2 do
    fact[info[i]] = info[i + 1]
  end
  local nodes = fact['radix-tree-keys']
  if nodes < 16 or counters.bytes + 64 * fact['length'] > nodes * STREAM_NODE / 4 then
    return
  end
  local added, ids = {}, {}
  for _, entry in ipairs(redis.call('XRANGE', key.messages, '-', '+', 'COUNT', 200)) do
    local seq = seq_of(entry)
    added[#added + 1], added[#added + 2] = text(seq), digits(seq) .. pack_kept(entry)
    ids[#ids + 1] = entry[1]
  end
  redis.call('ZADD', key.kept, unpack(added))
  redis.call('XDEL', key.messages, unpack(ids))
  counters.kept = counters.kept + #ids
end

local function delete_entries()
  local ids = {}
  for i, seq in ipairs(deleted) do
    ids[i] = text(seq) .. '-1'
  end
  local left = #ids
  in_parts(ids, function(...) left = left - redis.call('XDEL', key.messages, ...) end)
  for i = 1, left > 0 and #deleted or 0 do
    counters.kept = counters.kept - redis.call('ZREMRANGEBYSCORE', key.kept, deleted[i], deleted[i])
  end
  counters.removed = counters.removed + #deleted
  deleted = {}
  if counters.removed >= 1000 then
    counters.removed = 0
    if redis.call('EXISTS', key.messages) == 1 then
      make_dense()
    end
  end
end

-- save_messages writes what changed of messages. Entries are deleted first: without its record a message would be fresh again.
local function save_messages()
  delete_entries()
  local changes, gone = {}, {}
  for seq in pairs(unwritten) do
    local m = messages[seq]
    if m then
      changes[#changes + 1], changes[#changes + 2] = m.id, pack_touched(m)
    else
      gone[#gone + 1] = digits(seq)
    end
  end
  in_parts(changes, function(...) redis.call('HSET', key.touched, ...) end)
  in_parts(gone, function(...) redis.call('HDEL', key.touched, ...) end)
  if #departures > 0 then
    in_parts(departures, function(...) redis.call('RPUSH', key.history, ...) end)
    redis.call('LTRIM', key.history, -settings.history, -1)
  end
  unwritten, departures = {}, {}
end

-- first_end is when the next lease, delay or wait of a group for its rate ends; -1 if there is none.
local function first_end()
  if ends_changed then
    local ends = math.huge
    local function look(index, count, what)
      if count > 0 then
        local first = ask('ZRANGE', index, 0, 0, 'WITHSCORES')[2]
        if what and not first then
          lost(what)
        end
        ends = math.min(ends, tonumber(first or ends))
      end
    end
    look(key.leases, counters.leased, 'leased')
    look(key.spent, settings.group_limited)
    counters.waits = ''
    if counters.delayed > 0 then
      local first, due, by_wall = clocks.first_delayed(key.delays, ask)
      if not first then
        lost('delayed')
      end
      ends = math.min(ends, due)
      counters.waits = by_wall and 'a' .. text(clocks.ahead) or ''
    end
    counters.ends, ends_changed = ends == math.huge and -1 or ends, false
  end
  return counters.ends
end

-- save writes everything that changed.
local function save()
  commit()
  save_messages()
  save_groups()
  make_all()
  first_end()
  save_counters()
end
