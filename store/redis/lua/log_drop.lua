#!lua flags=allow-oom
-- Removes a log.
-- KEYS: c, o, e, then for each partition its stream and its facts. ARGV: the number of partitions that these are.
-- Returns 1, or 0 if the log has more partitions by now.
if tonumber(redis.call('HGET', KEYS[1], 'partitions') or 0) > tonumber(ARGV[1]) then
  return 0
end
for _, key in ipairs(KEYS) do
  redis.call('UNLINK', key) -- one by one: large ones are freed in the background
end
return 1
