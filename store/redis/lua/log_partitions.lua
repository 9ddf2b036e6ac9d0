#!lua flags=no-writes
-- Counts partitions.
-- KEYS: c. ARGV: none.
-- Returns how many the log has; 0 if there is no such log.
return tonumber(redis.call('HGET', KEYS[1], 'partitions') or 0)
