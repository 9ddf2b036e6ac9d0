-- Chunk: elapsed time, in whole milliseconds, and time lines. ARGV[1] is an instant, and after a space by how much the
-- wall clock is ahead; or, with a sign, what this server's clock has to be corrected by, then after spaces what the caller takes
-- elapsed time for, by how much it may be later than that, until when retention and times to live remove nothing, and
-- by how much the wall clock is ahead of elapsed time. A script that disagrees by more than a second refuses
-- with CLOCK and changes nothing: the server's clock was set, or the call was long on its way (elapsed.go).
-- ARGV[2] is the latest time that the caller has seen, and after a space the caller's bump: when this server was
-- found to be another one than before, or to go by another history; 0, or nothing, if it never was. See doc.go on failovers.
-- What may stand behind it is for the chunk record.

-- One table, since a function may use sixty variables of those around it.
--   ahead      by how much the wall clock is ahead of elapsed time
--   protected  until when retention and times to live remove nothing
--   set        the wall clock was set since the queue has computed when the first delay ends
--   BY_WALL    a delay that the wall clock ends has for its end what that has to show, and this beside it
--   JITTER     by how much the wall clock may differ from what is known of it: nodes differ a little
local clocks = { ahead = 0, protected = 0, set = false, BY_WALL = 1000000000000000, JITTER = 50 }

local elapsed, seen, bump
do
  local first, second = string.match(ARGV[2], '^(%d+) ?(%d*)')
  seen, bump = tonumber(first), tonumber(second) or 0
  local correction, estimate, late, ends, by = string.match(ARGV[1], '^([+-]%d+) (%d+) (%d+) (%d+) (-?%d+)$')
  if correction then
    local t = redis.call('TIME')
    elapsed = t[1] * 1000 + math.floor(t[2] / 1000) + correction
    clocks.protected, clocks.ahead = tonumber(ends), tonumber(by)
    local ahead = elapsed - estimate
    if ahead < -1000 or ahead > 1000 + late then
      return redis.error_reply(string.format('CLOCK elapsed time is ahead of what the caller expects by %d ms', ahead))
    end
  else
    elapsed, by = string.match(ARGV[1], '^(%d+) ?(-?%d*)$')
    elapsed, clocks.ahead = tonumber(elapsed), tonumber(by) or 0
  end
end

-- Queue time never runs back: not behind what was recorded, nor behind what the caller has seen.
local function queueTime(recorded)
  return math.max(elapsed, tonumber(recorded) or 0, seen)
end

-- in_elapsed is the end of a delay in elapsed time.
function clocks.in_elapsed(due)
  return due < clocks.BY_WALL and due or math.max(due - clocks.BY_WALL - clocks.ahead, 0)
end

-- first_delayed is the delayed message that is ready first, and when; nil if there is none.
function clocks.first_delayed(delays, ask)
  local first = ask('ZRANGE', delays, 0, 0, 'WITHSCORES')
  if not first[1] then
    return nil
  end
  local id, due = first[1], tonumber(first[2])
  local by_wall = ask('ZRANGEBYSCORE', delays, clocks.BY_WALL, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if by_wall[1] and (due >= clocks.BY_WALL or clocks.in_elapsed(tonumber(by_wall[2])) < due) then
    id, due = by_wall[1], clocks.in_elapsed(tonumber(by_wall[2]))
  end
  return id, due, by_wall[1] ~= nil
end

-- beyond is the first number to be given out in a new time line, when the last one before was as high as this: above what
-- the lost time lines may have given out. They did so at 64 a millisecond or more slowly, or had not given out 2^26 yet.
local function beyond(last)
  return math.max(last + 67108864, (bump - 1735689600000) * 64) + 1
end
