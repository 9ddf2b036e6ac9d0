#!lua flags=allow-oom
-- Removes a queue with all it has. For an hour it stays known as dropped, so that a process that was late in configuring it
-- does not create it again.
-- KEYS: those of the queue. ARGV: as for every queue. Returns {now, 1, 0}.
-- include: queue

now = queueTime('')
for i = 1, #KEYS - 1 do
  redis.call('UNLINK', KEYS[i])
end
redis.call('HSET', key.counters, 'dropped', '1')
redis.call('EXPIRE', key.counters, 3600)
redis.call('SPUBLISH', key.news, 'c' .. ARGV[3])
return { now, 1, 0 }
