-- Chunk: a queue's keys, counters and settings. doc.go says what is kept where.
-- KEYS[1] to KEYS[25] are the queue's keys, KEYS[26] is the channel for announcements. ARGV[3] is the queue's generation
-- as it is announced, with a colon and the number of the shard behind it if it has shards. ARGV[4] is the revision that the
-- call was made for, or empty if it is for any.
-- include: clock

local key = {
  counters = KEYS[1], messages = KEYS[2], touched = KEYS[3], visits = KEYS[4], by_age = KEYS[5], by_lane = KEYS[6],
  leases = KEYS[7], delays = KEYS[8], expiring = KEYS[9], dead = KEYS[10], groups = KEYS[11], names = KEYS[12],
  servable = KEYS[13], spent = KEYS[14], once = KEYS[15], once_ends = KEYS[16], known = KEYS[17], known_ends = KEYS[18],
  moved_in = KEYS[19], moved_away = KEYS[20], history = KEYS[21], moves = KEYS[22],
  arrivals = KEYS[23], order = KEYS[24], kept = KEYS[25],
  news = KEYS[26],
}

local STANDARD, FAIR, FIFO = 0, 1, 2
local TICK = 128 -- milliseconds
local SWEEP_LIMIT = 1000 -- what one call does beside what it was asked for

-- Lua writes only 14 digits of a number by itself. All numbers here are whole.
local function text(n) return string.format('%d', n) end
local function digits(n) return string.format('%016d', n) end

local names = {
  'now', 'next', 'token', 'turns', 'moves', 'kept', 'removed', 'ready', 'leased', 'delayed', 'dead', 'expiring', 'bytes',
  'leased_bytes', 'dead_bytes', 'ends', 'ahead', 'ahead_ns', 'work', 'commits', 'fenced', 'waits',
}
local counters, settings, revision -- of this queue, from open on
local as_read -- the counters as they are stored, in the order of their names; false where there is none
local now
local ends_changed = false -- since counters.ends was right
local committed = false -- this call has changed something

-- A setting that changes what a send, a claim or an ack does has to be among those that open_plain declines (queue_quick.lua).
local NOT_SET = {
  max_receives = 0, lazy = 0, retains = 0, retention = 0, mode = 0, tail = 0, levels = 0, ages = 0, ageing = 0, ageing_ns = 0,
  dedup_window = 0, max_messages = 0, max_bytes = 0, overflow = 0, max_in_flight = 0, group_in_flight = 0, limited = 0,
  interval = 0, interval_ns = 0, group_limited = 0, group_interval = 0, group_interval_ns = 0, expired_dead = 0, history = 0,
  shards = 0,
}

-- Settings are kept as a map of what is not 0. A queue with groups serves them in turn; one with lanes has a line for each
-- group or each level.
local function unpack_settings(packed)
  local s = setmetatable(cmsgpack.unpack(packed), { __index = NOT_SET })
  s.has_groups = s.mode ~= STANDARD or s.group_in_flight > 0 or s.group_limited > 0
  s.has_lanes = s.has_groups or s.levels > 1
  return s
end

-- save_counters writes the counters that changed, with the time.
local function save_counters()
  local changes = {}
  for i, name in ipairs(names) do
    local v = counters[name]
    if v ~= as_read[i] then
      changes[#changes + 1], changes[#changes + 2] = name, type(v) == 'number' and text(v) or v
      as_read[i] = v
    end
  end
  if #changes > 0 then
    redis.call('HSET', key.counters, unpack(changes))
  end
end

local MOST_CUTS = 32

-- read_cuts are the commits that were passed over: of each cut the one before it and its last one. The oldest are forgotten.
local function read_cuts() return cmsgpack.unpack(redis.call('HGET', key.counters, 'cuts') or '\144') end

-- jump begins a new time line: what names things goes on above all that the lost ones may have given out. What it leaves
-- out of the commits is noted as a cut.
local function jump()
  local last = counters.commits
  for _, name in ipairs({ 'next', 'token', 'moves', 'commits' }) do
    counters[name] = beyond(counters[name])
  end
  counters.fenced = bump
  local cuts = read_cuts()
  if cuts[#cuts] == last then
    cuts[#cuts] = counters.commits
  else
    cuts[#cuts + 1], cuts[#cuts + 2] = last, counters.commits
  end
  if #cuts > 2 * MOST_CUTS then
    table.remove(cuts, 1)
    table.remove(cuts, 1)
  end
  redis.call('HSET', key.counters, 'cuts', cmsgpack.pack(cuts))
  save_counters()
end

-- commit counts a call that changes something.
local function commit()
  if not committed then
    committed = true
    counters.commits = counters.commits + 1
  end
end

-- made is the number of the commit that this call made; 0 if it changed nothing.
local function made() return committed and counters.commits or 0 end

-- open reads counters and settings, sets the time and sees to it that the queue is in the caller's time line. It returns
-- what to reply if the call cannot be.
local function open()
  local values = redis.call('HMGET', key.counters, 'settings', 'revision', unpack(names))
  if not values[1] then
    return redis.error_reply('GONE no such queue')
  end
  settings, revision = unpack_settings(values[1]), values[2]
  if ARGV[4] ~= '' and ARGV[4] ~= revision then
    return redis.error_reply('STALE have revision ' .. revision)
  end
  counters, as_read = {}, {}
  local whole = true
  for i, name in ipairs(names) do
    local v = values[i + 2]
    local n = tonumber(v) or v or 0
    counters[name], as_read[i] = n, v and n
    whole = whole and (v or name ~= 'ends')
  end
  if not whole then
    counters.work = 'repair ' -- see queue_failed.lua
  end
  now = queueTime(counters.now)
  counters.now = now
  counters.waits = counters.waits == 0 and '' or counters.waits
  local known = string.match(counters.waits, '^a(-?%d+)$')
  if known then
    clocks.set = math.abs(known - clocks.ahead) >= clocks.JITTER
    ends_changed = clocks.set
    clocks.ahead = clocks.set and clocks.ahead or tonumber(known)
  end
  if settings.shards > 0 and not string.find(ARGV[3], ':', 1, true) then
    return { now, 3, settings.shards } -- the caller takes this shard for the whole queue
  end
  if bump > counters.fenced then
    jump()
  end
end

-- announce says that a claim or a send that waits may go on.
local function announce() redis.call('SPUBLISH', key.news, 'q' .. ARGV[3]) end

-- in_parts calls f with parts of a list that fit on Lua's stack.
local function in_parts(list, f)
  for from = 1, #list, 2000 do
    f(unpack(list, from, math.min(from + 1999, #list)))
  end
end

-- Changes of sorted sets are gathered and made together, before the set is asked and at the end: that is far quicker than
-- one by one. By key: member → score, or false where it is taken out.
local gathered = {}

local HAS_ENDS = { [key.leases] = true, [key.delays] = true, [key.spent] = true }

local function put(index, score, member)
  local changes = gathered[index]
  if not changes then
    changes = {}
    gathered[index] = changes
  end
  changes[member] = score
  ends_changed = ends_changed or HAS_ENDS[index]
end

local function drop(index, member) put(index, false, member) end

-- make makes the changes that were gathered for a sorted set.
local function make(index)
  local changes, added, taken = gathered[index], {}, {}
  if not changes then
    return
  end
  gathered[index] = nil
  local a, t, last, written = 0, 0, nil, nil
  for member, score in pairs(changes) do
    if score then
      if score ~= last then
        last, written = score, text(score)
      end
      added[a + 1], added[a + 2], a = written, member, a + 2
    else
      t = t + 1
      taken[t] = member
    end
  end
  in_parts(added, function(...) redis.call('ZADD', index, ...) end)
  in_parts(taken, function(...) redis.call('ZREM', index, ...) end)
end

local function make_all()
  for index in pairs(gathered) do
    make(index)
  end
end

-- ask runs a command that reads a sorted set.
local function ask(command, index, ...)
  make(index)
  return redis.call(command, index, ...)
end

-- lost fails the call, since an index lacks what is counted: somebody removed its key. The queue is then put right, see
-- queue_failed.lua.
local function lost(what) error('the index of ' .. what .. ' messages is gone') end

-- later is the end of a delay, or what the wall clock has to show if that comes later by the clocks as they are now; as
-- elapsed time if it is to be.
function clocks.later(due, wall, as_elapsed)
  if wall - clocks.ahead <= due then
    return due
  end
  return as_elapsed and wall - clocks.ahead or clocks.BY_WALL + wall
end

local function tick(at) return math.floor(at / TICK) end

-- expiry is when a message of that age passes retention: up to a tick late, never early, and not while that removes nothing.
local function expiry(avail) return math.max((avail + 1) * TICK + settings.retention, clocks.protected) end

-- lapse_limit is up to when times to live have ended that may have an effect now.
function clocks.lapse_limit() return clocks.protected > now and -1 or now end

-- A rate counts time in milliseconds and nanoseconds beyond: spend moves a count on by one delivery.
local function spend(ahead, ahead_ns, ms, ns)
  if ahead < now then
    ahead, ahead_ns = now, 0
  end
  ahead, ahead_ns = ahead + ms, ahead_ns + ns
  if ahead_ns >= 1000000 then
    ahead, ahead_ns = ahead + 1, ahead_ns - 1000000
  end
  return ahead, ahead_ns
end

-- allowed is when a rate allows the next delivery: when it is no more than a second less the interval ahead.
local function allowed(ahead, ahead_ns, ms, ns)
  if ms < 1000 then
    ahead, ahead_ns = ahead - 1000 + ms, ahead_ns + ns
  end
  return ahead + math.ceil(ahead_ns / 1000000)
end
