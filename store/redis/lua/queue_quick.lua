-- Chunk: what is quick in a plain queue. Making all functions of the state machine takes Redis longer than leasing ten
-- messages does. So what most calls come to stands before them, for queues without lanes, limits and history of which nothing
-- is due. It comes to the same; it declines, before it has written anything, whatever it does not know. TestQuickIsTheSame
-- compares the two.
-- include: clock

local key = {
  counters = KEYS[1], messages = KEYS[2], touched = KEYS[3], by_age = KEYS[5], leases = KEYS[7], delays = KEYS[8], order = KEYS[24],
  news = KEYS[26],
}
local TICK, LEASED, LIST_OF_16, LIST_OF_7 = 128, 2, '\220\0\16', '\151'

local now, counters, settings, retention -- of the queue, from open_plain on; retention is nil if there is none

local function text(n) return string.format('%d', n) end

-- open_plain is open and begin for a plain queue. It is false if the queue is not plain, or something has to come first.
local function open_plain()
  local v = redis.call(
    'HMGET', key.counters, 'now', 'token', 'ready', 'leased', 'delayed', 'dead', 'expiring', 'bytes', 'leased_bytes', 'ends',
    'kept', 'removed', 'commits', 'fenced', 'next', 'revision', 'settings', 'work', 'waits'
  )
  if not v[17] or v[18] ~= '' or ARGV[4] ~= '' and ARGV[4] ~= v[16] then
    return false
  end
  for i = 1, 15 do
    v[i] = tonumber(v[i])
    if not v[i] then
      return false
    end
  end
  counters = {
    token = v[2], ready = v[3], leased = v[4], delayed = v[5], dead = v[6], bytes = v[8], leased_bytes = v[9], ends = v[10],
    removed = v[12], commits = v[13], next = v[15], waits = v[19],
  }
  local known = string.match(v[19] or '', '^a(-?%d+)$')
  if known then
    if math.abs(known - clocks.ahead) >= clocks.JITTER then
      return false -- the wall clock was set
    end
    clocks.ahead = tonumber(known)
  end
  now = queueTime(v[1])
  if bump > v[14] or v[7] > 0 or v[11] > 0 or v[10] >= 0 and v[10] <= now then
    return false -- another time line, times to live, messages kept apart, something due
  end
  settings = cmsgpack.unpack(v[17])
  local s = settings
  retention = s.retains and (s.retention or 0)
  return not (
    s.mode or s.levels and s.levels > 1 or s.group_in_flight or s.group_limited or s.limited or s.max_in_flight
    or s.max_messages or s.max_bytes or s.history or retention and v[6] > 0
    or s.shards and not string.find(ARGV[3], ':', 1, true)
  )
end

-- expiry is that of the chunk queue.
local function expiry(avail) return math.max((avail + 1) * TICK + retention, clocks.protected) end

local function first_score(index) return tonumber(redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')[2]) end

-- save_plain is commit, first_end and save_counters.
local function save_plain()
  local c, ends = counters, -1
  c.commits = c.commits + 1
  if c.leased > 0 then
    ends = first_score(key.leases)
  end
  if c.delayed > 0 then
    local first
    if string.find(c.waits or '', 'a', 1, true) then
      local _, due = clocks.first_delayed(key.delays, redis.call)
      first = due
    else
      first = first_score(key.delays)
    end
    ends = ends < 0 and first or math.min(ends, first)
  end
  c.ends = ends
  redis.call(
    'HSET', key.counters, 'now', text(now), 'token', text(c.token), 'ready', text(c.ready), 'leased', text(c.leased),
    'bytes', text(c.bytes), 'leased_bytes', text(c.leased_bytes), 'ends', text(ends), 'removed', text(c.removed),
    'commits', text(c.commits), 'next', text(c.next)
  )
end

-- due_plain is next_due.
local function due_plain()
  local due = counters.ends
  if retention and counters.ready > 0 then
    local first = expiry(first_score(key.by_age))
    due = due < 0 and first or math.min(due, first)
  end
  return due
end
