#!lua flags=allow-oom
-- Enters which process serves a tag. If it is another one than before, what was acknowledged may be lost: the bump rises. It
-- does so without a record, too, if the caller knows that there was one: it is among what was lost.
-- KEYS: record of the tag: a hash of run and past (who served it last) and bump.
-- ARGV: run id and past replication id of this process; the least bump that there must be, by what the caller knows; "moved"
-- if these keys came from a server that is still there, else empty.
-- Returns the bump in milliseconds (0 if there never was one), 1 if it has risen now, and run and past as they were.
local have = redis.call('HMGET', KEYS[1], 'run', 'past', 'bump')
local bump = tonumber(have[3]) or 0
local run, past = ARGV[1], ARGV[2]
local forgotten = not string.find(past, '[^0]')
if have[1] == run and (have[2] == past or forgotten) and bump >= tonumber(ARGV[3]) then
  return { bump, 0, have[1], have[2] }
end
local risen = 0
if (have[1] or tonumber(ARGV[3]) > 0) and ARGV[4] ~= 'moved' then
  local t = redis.call('TIME')
  bump, risen = math.max(bump + 1, tonumber(ARGV[3]), t[1] * 1000 + math.floor(t[2] / 1000)), 1
end
redis.call('HSET', KEYS[1], 'run', run, 'past', past, 'bump', string.format('%d', bump))
return { bump, risen, have[1] or '', have[2] or '' }
