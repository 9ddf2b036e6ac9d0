#!lua flags=allow-oom
-- Removes a log. For an hour it stays known as dropped, so that a process that was late in configuring it does not create
-- it again.
-- KEYS: c, o, e, then for each partition its stream and its facts. ARGV: the number of partitions that these are.
-- Returns 1, or 0 if the log has more partitions by now.
if tonumber(redis.call('HGET', KEYS[1], 'partitions') or 0) > tonumber(ARGV[1]) then
  return 0
end
for _, key in ipairs(KEYS) do
  redis.call('UNLINK', key) -- one by one: large ones are freed in the background
end
redis.call('HSET', KEYS[1], 'dropped', '1')
redis.call('EXPIRE', KEYS[1], 3600)
return 1
