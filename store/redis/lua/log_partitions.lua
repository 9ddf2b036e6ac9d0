#!lua flags=no-writes
-- How many partitions a log has; 0 if there is no such log.
-- KEYS: c. ARGV: none.
return tonumber(redis.call('HGET', KEYS[1], 'partitions') or 0)
