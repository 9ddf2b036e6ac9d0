-- Chunk: elapsed time, in whole milliseconds, and time lines. ARGV[1] is an instant; or, with a sign, what this server's clock
-- has to be corrected by, then after spaces what the caller takes elapsed time for, by how much it may be later than
-- that, and until when retention and times to live remove nothing. A script that disagrees by more than a second refuses
-- with CLOCK and changes nothing: the server's clock was set, or the call was long on its way (elapsed.go).
-- ARGV[2] is the latest time that the caller has seen, and after a space the caller's bump: when this server was
-- found to be another one than before, or to go by another history; 0, or nothing, if it never was. See doc.go on failovers.
-- What may stand behind it is for the chunk record.

local elapsed, seen, bump
local protected = 0
do
  local first, second = string.match(ARGV[2], '^(%d+) ?(%d*)')
  seen, bump = tonumber(first), tonumber(second) or 0
  local correction, estimate, late, ends = string.match(ARGV[1], '^([+-]%d+) (%d+) (%d+) (%d+)$')
  if correction then
    local t = redis.call('TIME')
    elapsed = t[1] * 1000 + math.floor(t[2] / 1000) + correction
    protected = tonumber(ends)
    local ahead = elapsed - estimate
    if ahead < -1000 or ahead > 1000 + late then
      return redis.error_reply(string.format('CLOCK elapsed time is ahead of what the caller expects by %d ms', ahead))
    end
  else
    elapsed = tonumber(ARGV[1])
  end
end

-- Queue time never runs back: not behind what was recorded, nor behind what the caller has seen.
local function queueTime(recorded)
  return math.max(elapsed, tonumber(recorded) or 0, seen)
end

-- beyond is the first number to be given out in a new time line, when the last one before was as high as this: above what
-- the lost time lines may have given out. They did so at 64 a millisecond or more slowly, or had not given out 2^26 yet.
local function beyond(last)
  return math.max(last + 67108864, (bump - 1735689600000) * 64) + 1
end
