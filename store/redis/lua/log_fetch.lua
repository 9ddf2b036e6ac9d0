#!lua flags=no-writes
-- Reads records of a partition: as many as fit into a number and a sum of sizes, at least one. One call looks at 1,000
-- records and 4 MiB, and then leaves the rest.
-- KEYS: c, stream, facts. ARGV: partition, offset, number, sum of sizes.
-- Returns first, next, bytes and missing of the partition, how many records fit but were left, then for each record size, time
-- (with an @ before it when it was appended, if it has none of its own), payload. With an offset that is not there it returns no record; if that is in a hole, first is where it ends.
-- include: log
-- include: logfacts
local log = openLog(KEYS[1])
if not log then
  return redis.error_reply('GONE no such log')
end
local number, offset, room = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
if number >= log.partitions then
  return redis.error_reply('STALE partition ' .. number .. ' of ' .. log.partitions)
end
local part = openPartition(KEYS[1], number)
local answer = {boundsOf(part)}
answer[5] = 0
local readable = behindHoles(part, offset)
if offset < readable then
  answer[1] = readable
  answer[4] = missing(part, readable, part.next)
end
if offset < answer[1] or offset >= part.next then
  return answer
end

-- What fits, by the sizes alone: the first record behind it.
local from = sizesBefore(KEYS[3], part, offset)
local most = math.min(endOfRun(part, offset), offset + tonumber(ARGV[3]))
local function fits(bytes, upTo)
  return firstThat(offset + 2, upTo + 1, function(behind)
    return sizesBefore(KEYS[3], part, behind) - from > bytes
  end) - 1
end
local behind = most
if most > offset + 1 then
  behind = fits(room, most)
end
local now = math.min(behind, offset + 1000)
if now > offset + 1 then
  now = fits(4 * 1024 * 1024, now)
end
answer[5] = behind - now

local records = redis.call('XRANGE', KEYS[2], string.format('%.0f-1', offset), string.format('%.0f-1', now - 1))
for i, record in ipairs(records) do
  if record[1] ~= string.format('%.0f-1', offset + i - 1) then
    break -- the one before it is missing
  end
  answer[#answer + 1] = record[2][2]
  answer[#answer + 1] = record[2][4]
  answer[#answer + 1] = record[2][6]
end
if #answer == 5 then
  return redis.error_reply('CORRUPT record ' .. ARGV[2] .. ' of partition ' .. number .. ' is missing')
end
return answer
