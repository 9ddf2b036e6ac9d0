#!lua flags=allow-oom
-- Writes the record of elapsed time, unless it was changed since the caller has read it, or this server's clock was set since.
-- KEYS: the record. ARGV: the fence that it has, 0 if there is none; the new fence; correction (ms), what the caller takes
-- elapsed time for (ms), id of the caller, protected (ms).
-- Returns 1 if it was written, else 0.
local t = redis.call('TIME')
local clock = t[1] * 1000 + math.floor(t[2] / 1000)
local elapsed = clock + ARGV[3]
if (redis.call('HGET', KEYS[1], 'fence') or '0') ~= ARGV[1] or math.abs(elapsed - ARGV[4]) > 1000 then
  return 0
end
redis.call(
  'HSET', KEYS[1], 'fence', ARGV[2], 'correction', ARGV[3], 'elapsed', string.format('%d', elapsed),
  'clock', string.format('%d', clock), 'by', ARGV[5], 'protected', ARGV[6]
)
return 1
