-- Chunk: one message, and the states it goes through. A message that has no record is fresh: ready since it was sent.
-- include: queue_lanes

local GIVEN_BACK, RAN_OUT, REJECTED = 1, 2, 3 -- how a delivery ended
local ACKED, AGED, EVICTED, MOVED_AWAY, PURGED = 1, 2, 3, 4, 5 -- how a message left
local MAX_VISITS = 15
local LAST = 9007199254740992 -- 2^53: sequences are below

local function pack_touched(m)
  return cmsgpack.pack({
    m.seq, m.state, m.due, m.since, m.token, m.avail, m.entered, m.consumer, m.reason, m.visited,
    m.size, m.group, m.priority, m.expires, m.from, m.was,
  })
end

local function unpack_touched(packed)
  local f = cmsgpack.unpack(packed)
  return {
    seq = f[1], state = f[2],
    due = f[3], -- end of the delay or lease
    since = f[4], -- when its last lease began
    token = f[5], -- of its last delivery; 0 if there was none
    avail = f[6], -- tick of first availability; 0 while it never was
    entered = f[7], -- deliveries since it came to the queue
    consumer = f[8], -- who holds it, or held it last
    reason = f[9], -- why it was last given back
    visited = f[10], -- 1 if some of its deliveries ended
    size = f[11], group = f[12], priority = f[13], expires = f[14],
    from = f[15], -- where it was first sent, if it was moved here
    was = f[16], -- the state it was in before it was moving
    stored = true,
  }
end

-- entry_of is what is stored of a message; false if there is none.
local function entry_of(seq)
  local id = text(seq) .. '-1'
  return redis.call('XRANGE', key.messages, id, id)[1] or false
end

-- fresh is a message without a record, from its entry.
local function fresh(seq, entry)
  local f = entry[2]
  return {
    seq = seq, state = READY, due = 0, since = 0, token = 0, avail = tick(tonumber(f[6])), entered = 0, consumer = '',
    reason = '', visited = 0, size = tonumber(f[4]), group = f[8], priority = tonumber(f[10]), expires = tonumber(f[12]),
    from = f[14], was = 0, stored = false, entry = entry,
  }
end

local function record_of(seq)
  local packed = redis.call('ZRANGEBYSCORE', key.touched, seq, seq)[1]
  return packed and unpack_touched(packed)
end

-- find is a message in any state; nil if there is none.
local function find(seq)
  if seq < 1 or seq >= LAST then
    return nil
  end
  local m = record_of(seq)
  if m then
    return m
  end
  local entry = entry_of(seq)
  return entry and fresh(seq, entry) or nil
end

-- keep stores the record of a message.
local function keep(m)
  if m.stored then
    redis.call('ZREMRANGEBYSCORE', key.touched, m.seq, m.seq)
  end
  redis.call('ZADD', key.touched, m.seq, pack_touched(m))
  m.stored = true
end

local function may_lapse(state) return state == READY or state == DELAYED or state == BACKOFF end

-- leave takes a message out of the state it is in.
local function leave(m)
  local id = digits(m.seq)
  if m.state == READY then
    redis.call('ZREM', key.by_age, id)
  elseif m.state == LEASED then
    redis.call('ZREM', key.leases, id)
    counters.leased_bytes = counters.leased_bytes - m.size
  elseif m.state == DELAYED or m.state == BACKOFF then
    redis.call('ZREM', key.delays, id)
  elseif m.state == DEAD then
    redis.call('ZREM', key.dead, id)
    counters.dead_bytes = counters.dead_bytes - m.size
  end
  if m.expires > 0 and may_lapse(m.state) then
    redis.call('ZREM', key.expiring, id)
  end
  local listed = lane_member(m)
  if listed then
    redis.call('ZREM', key.by_lane, listed)
  end
  tally(m, -1)
  m.due = 0
end

local function list_in_lane(m)
  local listed = lane_member(m)
  if listed then
    redis.call('ZADD', key.by_lane, 0, listed)
  end
end

-- enter lists a message in the state it is in.
local function enter(m)
  local id = digits(m.seq)
  if m.state == READY then
    redis.call('ZADD', key.by_age, m.avail, id)
  elseif m.state == LEASED then
    redis.call('ZADD', key.leases, m.due, id)
    counters.leased_bytes = counters.leased_bytes + m.size
  elseif m.state == DELAYED or m.state == BACKOFF then
    redis.call('ZADD', key.delays, m.due, id)
  elseif m.state == DEAD then
    redis.call('ZADD', key.dead, m.avail, id)
    counters.dead_bytes = counters.dead_bytes + m.size
  end
  if m.expires > 0 and may_lapse(m.state) then
    redis.call('ZADD', key.expiring, m.expires, id)
  end
  list_in_lane(m)
  tally(m, 1)
end

-- within cuts a lease or delay off where the retention of the message ends.
local function within(m, due)
  if settings.retains > 0 and m.avail > 0 then
    return math.min(due, expiry(m.avail))
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
  local packed = m.visited > 0 and redis.call('HGET', key.visits, digits(m.seq))
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
  redis.call('HSET', key.visits, digits(m.seq), cmsgpack.pack(list))
  m.visited = 1
end

-- lease hands out a ready message.
local function lease(m, token, deadline, consumer)
  leave(m)
  m.token, m.since, m.consumer, m.entered = token, now, consumer, m.entered + 1
  set_leased(m, deadline)
  if settings.limited > 0 then
    counters.ahead, counters.ahead_ns =
      spend(counters.ahead, counters.ahead_ns, settings.interval, settings.interval_ns)
  end
  if has_groups(settings) then
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
  if settings.history == 0 then
    return
  end
  redis.call('RPUSH', key.history, cmsgpack.pack({
    m.seq, m.from, now, how, m.avail, m.entered, m.token, m.since, m.consumer, m.reason, m.group, m.priority,
    m.expires, visits_of(m),
  }))
  redis.call('LTRIM', key.history, -settings.history, -1)
end

-- erase removes a message in any state.
local function erase(m, how)
  note_departure(m, how)
  if m.state ~= MOVING then
    counters.bytes = counters.bytes - m.size
    leave(m)
  end
  redis.call('XDEL', key.messages, text(m.seq) .. '-1')
  if m.stored then
    redis.call('ZREMRANGEBYSCORE', key.touched, m.seq, m.seq)
  end
  if m.visited > 0 then
    redis.call('HDEL', key.visits, digits(m.seq))
  end
  if m.from ~= '' then
    redis.call('HDEL', key.moved_in, m.from)
  end
  if has_groups(settings) then
    quit(m.group)
  end
end

-- lapse makes a message dead whose time to live has ended.
local function lapse(m)
  leave(m)
  m.reason = 'expired'
  set_dead(m)
end

-- add appends a message under the next sequence, to be ready at a time.
local function add(m, due, body, origin)
  m.seq, m.due, m.since, m.token, m.entered, m.consumer, m.reason, m.visited, m.was, m.stored =
    counters.next, 0, 0, 0, 0, '', '', 0, 0, false
  counters.next = m.seq + 1
  counters.bytes = counters.bytes + m.size
  redis.call('XADD', key.messages, text(m.seq) .. '-1', 'body', body, 'size', text(m.size), 'sent', text(now),
    'group', m.group, 'priority', text(m.priority), 'expires', text(m.expires), 'from', m.from, 'origin', origin)
  if m.from ~= '' then
    redis.call('HSET', key.moved_in, m.from, text(m.seq))
  end
  if due > now then
    m.avail = 0
    become(m, DELAYED, due)
  else
    m.state, m.avail = READY, tick(now)
    enter(m)
  end
end

-- shown is what a receiver sees of a message: eleven values.
local function shown(m)
  m.entry = m.entry or entry_of(m.seq)
  local f = m.entry[2]
  return { m.seq, f[2], m.size, f[6], m.entered, m.avail, m.group, m.priority, m.expires, m.from, f[16] }
end
