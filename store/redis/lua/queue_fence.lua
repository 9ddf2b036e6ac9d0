#!lua flags=allow-oom
-- Brings a queue into the caller's time line, if it is not there yet, and tells which commits were lost before.
-- KEYS: those of the queue. ARGV: as for every queue, with an empty revision.
-- Returns {now, 1, 0, what}: "here", "dropped", or "absent" if nothing is known of it, then of each cut the commit before it and
-- its last one.
-- include: queue

if redis.call('HEXISTS', key.counters, 'settings') == 0 then
  return { queueTime(''), 1, 0, redis.call('HEXISTS', key.counters, 'dropped') == 1 and 'dropped' or 'absent' }
end
local refused = open()
if refused then
  return refused
end
return { now, 1, 0, 'here', unpack(read_cuts()) }
