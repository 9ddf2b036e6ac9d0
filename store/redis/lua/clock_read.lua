#!lua flags=no-writes
-- Reads the record of elapsed time, see doc.go.
-- KEYS: the record. ARGV: none.
-- Returns this server's clock in milliseconds, then fence, correction, elapsed, clock, by and protected of the record; nothing
-- behind the clock if there is none.
local t = redis.call('TIME')
local clock = t[1] * 1000 + math.floor(t[2] / 1000)
local r = redis.call('HMGET', KEYS[1], 'fence', 'correction', 'elapsed', 'clock', 'by', 'protected')
if not r[1] then
  return { clock }
end
return { clock, unpack(r) }
