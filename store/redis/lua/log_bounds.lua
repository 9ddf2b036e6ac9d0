#!lua flags=no-writes
-- Describes all partitions.
-- KEYS: c. ARGV: none.
-- Returns first, next, bytes and missing of each.
-- include: log
local log = openLog(KEYS[1])
if not log then
  return redis.error_reply('GONE no such log')
end
local answer = {}
for number = 0, log.partitions - 1 do
  for _, n in ipairs({boundsOf(openPartition(KEYS[1], number))}) do
    answer[#answer + 1] = n
  end
end
return answer
