#!lua
-- Creates a log or replaces its settings, unless they are as new already. A log that was known before and is not here was
-- lost: so that it gives out no offset again, it does not know the caller's bump.
-- KEYS: c, record of the tag. ARGV: time (2), revision, partitions, retention in milliseconds, retention in bytes, 1 if the log was known before.
-- Returns the time.
-- include: record
-- include: log
if redis.call('HEXISTS', KEYS[1], 'dropped') == 1 then
  return redis.error_reply('GONE the log was dropped')
end
local log = openLog(KEYS[1])
if not log then
  local refused = forgotten(KEYS[2])
  if refused then
    return refused
  end
  log = {revision = 0, partitions = 1, now = 0}
end
local now = queueTime(log.now)
if log.revision == 0 and bump > 0 and ARGV[7] == '0' then
  redis.call('HSET', KEYS[1], 'fenced', string.format('%.0f', bump))
end
if tonumber(ARGV[3]) > tonumber(log.revision) then
  redis.call('HSET', KEYS[1], 'revision', ARGV[3], 'partitions', math.max(tonumber(ARGV[4]), log.partitions),
    'age', ARGV[5], 'bytes', ARGV[6], 'now', now)
end
return {now}
