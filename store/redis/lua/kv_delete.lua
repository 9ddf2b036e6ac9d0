#!lua flags=allow-oom
-- Removes a key.
-- KEYS: values hash, revisions hash, sorted set of keys. ARGV: key, revision that it must have.
-- Returns how many keys that were.
-- include: kv_expect
local err = unexpected(ARGV[1], ARGV[2])
if err then
  return err
end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('ZREM', KEYS[3], ARGV[1])
