#!lua flags=allow-oom
-- Removes what is past retention from some partitions, and idempotency keys whose windows have ended.
-- KEYS: c, o, e, then for each partition its stream and its facts. ARGV: time (2), the number of the first partition.
-- Returns the time, the number of records removed, when more is due (-1: never), and a list of the partitions of
-- which memory is still to be freed by log_reclaim.
-- include: clock
-- include: logretention
local c = KEYS[1]
local log = openLog(c)
if not log then
  return redis.error_reply('GONE no such log')
end
local now = queueTime(log.now)
redis.call('HSET', c, 'now', now)
for _, key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 1000)) do
  redis.call('ZREM', KEYS[3], key)
  redis.call('HDEL', KEYS[2], key)
end
local removed, due, unfinished = 0, -1, {}
for i = 1, (#KEYS - 3) / 2 do
  local s, f = KEYS[2 + 2 * i], KEYS[3 + 2 * i]
  local part = openPartition(c, tonumber(ARGV[3]) + i - 1)
  local to = retained(log, f, part, now, clocks.protected)
  if to > part.first then
    removed = removed + to - part.first - missing(part, part.first, to)
    if trimTo(c, s, f, part, to) then
      unfinished[#unfinished + 1] = part.number
    end
  end
  due = sooner(due, retentionDue(log, f, part, now, clocks.protected))
end
return {now, removed, due, unfinished}
