#!lua flags=allow-oom
-- Removes the records of a partition before an offset; beyond its end nothing happens.
-- KEYS: c, stream, facts. ARGV: partition, offset.
-- Returns first, next, bytes and missing of the partition, and 1 if memory is still to be freed by log_reclaim, else 0.
-- include: logretention
local log = openLog(KEYS[1])
if not log then
  return redis.error_reply('GONE no such log')
end
local number, offset = tonumber(ARGV[1]), tonumber(ARGV[2])
if number >= log.partitions then
  return redis.error_reply('STALE partition ' .. number .. ' of ' .. log.partitions)
end
local part, left = openPartition(KEYS[1], number), false
if offset > part.first and offset <= part.next then
  left = trimTo(KEYS[1], KEYS[2], KEYS[3], part, offset)
end
local answer = {boundsOf(part)}
answer[5] = left and 1 or 0
return answer
