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
if redis.call('HEXISTS', KEYS[2], key) == 0 then
  return {seen, 0}
end
local revision = new_revision()
redis.call('HDEL', KEYS[2], key) -- from here on it is gone; the rest is passed over if it stays
redis.call('HDEL', KEYS[1], key)
redis.call('ZREM', KEYS[3], key)
return {seen, revision}
