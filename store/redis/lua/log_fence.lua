#!lua flags=allow-oom
-- Brings partitions of a log into the caller's time line, if they are not there yet, and tells which offsets they have passed
-- over.
-- KEYS: c. ARGV: time (2), numbers of partitions.
-- Returns the time and what: "here", "dropped", or "absent" if nothing is known of the log, then for each partition a list of the
-- beginning and end of each hole.
-- include: logjump
local c = KEYS[1]
local log = openLog(c)
if not log then
  return {queueTime(0), redis.call('HEXISTS', c, 'dropped') == 1 and 'dropped' or 'absent'}
end
local answer = {queueTime(log.now), 'here'}
for i = 3, #ARGV do
  local part = openPartition(c, tonumber(ARGV[i]))
  joinTimeLine(c, part)
  answer[#answer + 1] = part.holes
end
return answer
