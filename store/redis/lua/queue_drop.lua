#!lua flags=allow-oom
-- Removes a queue with all it has.
-- KEYS: those of the queue. ARGV: as for every queue. Returns {now, 1}.
-- include: queue

now = queueTime('')
for i = 1, #KEYS - 1 do
  redis.call('UNLINK', KEYS[i])
end
redis.call('SPUBLISH', key.news, 'c' .. ARGV[3])
return { now, 1 }
