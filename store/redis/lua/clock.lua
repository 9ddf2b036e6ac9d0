-- Chunk: time, in whole milliseconds, and time lines. ARGV[1] is an instant, or with a sign an offset to this server's
-- clock. ARGV[2] is the latest time that the caller has seen, and after a space the caller's bump: when this server was
-- found to be another one than before, or to go by another history; 0, or nothing, if it never was. See doc.go on failovers.
-- What may stand behind it is for the chunk record.

local seen, bump
do
  local first, second = string.match(ARGV[2], '^(%d+) ?(%d*)')
  seen, bump = tonumber(first), tonumber(second) or 0
end

local function wallTime()
  local sign = string.byte(ARGV[1])
  if sign ~= 43 and sign ~= 45 then -- neither + nor -
    return tonumber(ARGV[1])
  end
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000) + tonumber(ARGV[1])
end

-- Queue time never runs back: not behind what was recorded, nor behind what the caller has seen.
local function queueTime(recorded)
  return math.max(wallTime(), tonumber(recorded) or 0, seen)
end

-- beyond is the first number to be given out in a new time line, when the last one before was as high as this: above what
-- the lost time lines may have given out. They did so at 64 a millisecond or more slowly, or had not given out 2^26 yet.
local function beyond(last)
  return math.max(last + 67108864, (bump - 1735689600000) * 64) + 1
end
