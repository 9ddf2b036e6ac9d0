#!lua flags=allow-oom
-- Enters which process serves a tag. If it is another one than before, what was acknowledged may be lost: the bump rises. It
-- does so, too, if the record is not the one that the caller knows, or says less than that: it is among what was lost.
-- KEYS: record of the tag: a hash of run and past (who served it last), bump, and made, which tells it from all others.
-- ARGV: run id and past replication id of this process; the least bump that there must be, by what the caller knows; "moved"
-- if these keys came from a server that is still there, else empty; made of the record that the caller knows, 0 for none; elapsed
-- time (ms), 0 if the caller does not know it yet.
-- Returns the bump in milliseconds (0 if there never was one), 1 if it has risen now, run and past as they were, and made.
local have = redis.call('HMGET', KEYS[1], 'run', 'past', 'bump', 'made')
local bump, made = tonumber(have[3]) or 0, have[4]
local run, past = ARGV[1], ARGV[2]
local forgotten = not string.find(past, '[^0]')
local same = have[1] == run and (have[2] == past or forgotten)
local moved, lost = ARGV[4] == 'moved', ARGV[5] ~= '0' and made ~= ARGV[5]
local least = tonumber(ARGV[3]) + (lost and 1 or 0)
if same and made and bump >= least then
  return { bump, 0, have[1], have[2], made }
end
local t = redis.call('TIME')
local risen = 0
if bump < least and (lost or not moved) or have[1] and not same and not moved then
  bump, risen = math.max(bump + 1, least, ARGV[6] ~= '0' and tonumber(ARGV[6]) or t[1] * 1000 + math.floor(t[2] / 1000)), 1
end
made = made or string.format('%d', t[1] * 1000000 + t[2]) -- in microseconds
redis.call('HSET', KEYS[1], 'run', run, 'past', past, 'bump', string.format('%d', bump), 'made', made)
return { bump, risen, have[1] or '', have[2] or '', made }
