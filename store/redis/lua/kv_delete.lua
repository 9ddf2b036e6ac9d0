#!lua flags=allow-oom
-- Removes a key.
-- KEYS, ARGV: see the chunk kv_expect; the key, the revision that it must have.
-- Returns the time that the caller has seen and the revision of this change; 0 if there was no such key.
-- include: kv_expect
local key = ARGV[3]
local err = unexpected(key, ARGV[4])
if err then
  return err
end
if redis.call('ZREM', KEYS[3], key) == 0 then
  return {seen, 0}
end
redis.call('HDEL', KEYS[1], key)
redis.call('HDEL', KEYS[2], key)
return {seen, new_revision()}
