#!lua
-- Creates a log or replaces its settings, unless they are as new already.
-- KEYS: c. ARGV: time (2), revision, partitions, retention in milliseconds, retention in bytes.
-- Returns the time.
-- include: clock
-- include: log
if redis.call('HEXISTS', KEYS[1], 'dropped') == 1 then
  return redis.error_reply('GONE the log was dropped')
end
local log = openLog(KEYS[1]) or {revision = 0, partitions = 1, now = 0}
local now = queueTime(log.now)
if tonumber(ARGV[3]) > tonumber(log.revision) then
  redis.call('HSET', KEYS[1], 'revision', ARGV[3], 'partitions', math.max(tonumber(ARGV[4]), log.partitions),
    'age', ARGV[5], 'bytes', ARGV[6], 'now', now)
end
return {now}
