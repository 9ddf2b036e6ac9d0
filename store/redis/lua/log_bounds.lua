#!lua flags=no-writes
-- Describes all partitions.
-- KEYS: c. ARGV: none.
-- Returns first, next and bytes of each.
-- include: log
local log = openLog(KEYS[1])
if not log then
  return redis.error_reply('GONE no such log')
end
local answer = {}
for number = 0, log.partitions - 1 do
  local part = openPartition(KEYS[1], number)
  answer[#answer + 1] = part.first
  answer[#answer + 1] = part.next
  answer[#answer + 1] = part.total - part.gone
end
return answer
