#!lua
-- Appends records to partitions: all or none.
-- KEYS: c, o, e, channel, then for each part its partition's stream and facts.
-- ARGV: time (2), generation, revision, idempotency key (empty without one), fingerprint, window in milliseconds, note,
-- then for each part: partition, offset that its first record must get (or empty), number of records; and for each of
-- those: size, time in milliseconds (empty for none of its own), payload.
-- Returns the time and a verdict:
--   'appended', when retention is due (-1: never), a list of partition, first offset and number of records of each part
--   'again', when it was appended before, the note, the list as above
--   'expected', partition, offset, and the first, next, bytes and missing of that partition
-- include: logjump
-- include: logretention
local c, o, e, channel = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local generation, revision, once = ARGV[3], ARGV[4], ARGV[5]

local log = openLog(c)
if not log then
  return redis.error_reply('GONE no such log')
end
if log.revision ~= revision then
  return redis.error_reply('STALE have revision ' .. log.revision)
end
local now = queueTime(log.now)

for _, key in ipairs(redis.call('ZRANGEBYSCORE', e, '-inf', now, 'LIMIT', 0, 100)) do
  redis.call('ZREM', e, key)
  redis.call('HDEL', o, key)
end
if once ~= '' then
  -- What is remembered of an append that failed before its records were counted is forgotten.
  local pending = redis.call('HGET', c, 'pending')
  if pending and pending ~= '' then
    redis.call('HDEL', o, pending)
    redis.call('ZREM', e, pending)
  end
  local packed = redis.call('HGET', o, once)
  local first = packed and cmsgpack.unpack(packed)
  if first and first.ends > now then
    if first.fingerprint ~= ARGV[6] then
      return redis.error_reply('REUSED idempotency key')
    end
    return {now, 'again', first.at, first.note, first.parts}
  end
end

-- Each part, checked before anything is appended.
local parts, arg = {}, 9
for i = 1, (#KEYS - 4) / 2 do
  local number, expect, count = tonumber(ARGV[arg]), ARGV[arg + 1], tonumber(ARGV[arg + 2])
  if number >= log.partitions then
    return redis.error_reply('STALE partition ' .. number .. ' of ' .. log.partitions)
  end
  local part = openPartition(c, number)
  joinTimeLine(c, part)
  if expect ~= '' and tonumber(expect) ~= part.next then
    return {now, 'expected', number, expect, boundsOf(part)}
  end
  part.s, part.f, part.arg, part.count = KEYS[3 + 2 * i], KEYS[4 + 2 * i], arg + 3, count
  parts[i] = part
  arg = arg + 3 + 3 * count
end

local function raise(f, field, highest, stamp)
  local have = redis.call('HGET', f, field)
  if have then
    local own, last = stretchTimes(have)
    if own >= highest and last >= stamp then
      return
    end
    highest, stamp = math.max(own, highest), math.max(last, stamp)
  end
  redis.call('HSET', f, field, string.format('%.0f %.0f', highest, stamp))
end

-- add appends a record to the stream of a partition. What lies behind it there is of an append that failed half-way: it was
-- never counted, and is removed.
local function add(part, ...)
  local id = string.format('%.0f-1', part.next)
  local added = redis.pcall('XADD', part.s, id, ...)
  if type(added) ~= 'table' then
    return
  end
  if not string.find(added.err, 'equal or smaller', 1, true) then
    error(added)
  end
  for _, record in ipairs(redis.call('XRANGE', part.s, id, '+')) do
    redis.call('XDEL', part.s, record[1])
  end
  redis.call('XSETID', part.s, part.next > 0 and string.format('%.0f-1', part.next - 1) or '0-0')
  redis.call('XADD', part.s, id, ...)
end

-- rowsOf are the facts of the records of a block that were counted, and the highest time of these.
local function rowsOf(part, block)
  local have = redis.call('HGET', part.f, block)
  local counted = part.next % perBlock
  local rows, highest = string.sub(have, headLen + 1, headLen + counted * rowLen), struct.unpack('<d', have)
  if #have > headLen + #rows then
    highest = -math.huge
    for i = 0, counted - 1 do
      highest = math.max(highest, (struct.unpack('<d', rows, i * rowLen + 1)))
    end
  end
  return rows, highest
end

local function appendTo(part)
  local block, rows, highest, stamp = blockOf(part.next), {}, -math.huge, -math.huge
  local function finish()
    redis.call('HSET', part.f, block, struct.pack('<d', highest) .. table.concat(rows))
    raise(part.f, '2:' .. blockOf(block), highest, stamp)
    raise(part.f, '3:' .. blockOf(blockOf(block)), highest, stamp)
  end
  if part.next % perBlock > 0 then
    rows[1], highest = rowsOf(part, block)
  end
  part.call = part.next
  for i = part.arg, part.arg + 3 * part.count - 1, 3 do
    local size, time, payload = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    local own = tonumber(time)
    if own then
      highest = math.max(highest, own)
    else
      time, stamp = string.format('@%.0f', now), now
    end
    add(part, 'size', size, 'time', time, 'body', payload)
    rows[#rows + 1] = struct.pack('<ddd', own or noTime, part.total, now)
    part.next, part.total = part.next + 1, part.total + tonumber(size)
    if part.next % perBlock == 0 then
      finish()
      block, rows, highest, stamp = block + 1, {}, -math.huge, -math.huge
    end
  end
  if #rows > 0 then
    finish()
  end
  reclaim(part.s, part.f, part)
end

local due, places, states = -1, {}, { 'now', now }
for _, part in ipairs(parts) do
  appendTo(part)
  states[#states + 1], states[#states + 2] = 'p' .. part.number, packPartition(part)
  due = sooner(due, retentionDue(log, part.f, part, now, clocks.protected))
  places[#places + 1] = part.number
  places[#places + 1] = part.call
  places[#places + 1] = part.count
end
if once ~= '' then
  local ends = now + tonumber(ARGV[7])
  redis.call('HSET', c, 'pending', once)
  redis.call('HSET', o, once, cmsgpack.pack({fingerprint = ARGV[6], at = now, ends = ends, note = ARGV[8], parts = places}))
  redis.call('ZADD', e, ends, once)
  states[#states + 1], states[#states + 2] = 'pending', ''
end
-- Here the records come to be, all at once. Should the script fail before, the next append removes what it has left.
redis.call('HSET', c, unpack(states))
for _, part in ipairs(parts) do
  redis.call('SPUBLISH', channel, 'l' .. generation .. ':' .. part.number)
end
return {now, 'appended', due, places}
