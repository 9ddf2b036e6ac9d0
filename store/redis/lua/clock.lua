-- Chunk: time, in whole milliseconds. ARGV[1] is an instant, or with a sign an offset to this server's clock. ARGV[2] is
-- the latest time that the caller has seen.

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
  return math.max(wallTime(), tonumber(recorded) or 0, tonumber(ARGV[2]))
end
