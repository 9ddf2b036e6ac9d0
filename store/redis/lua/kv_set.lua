-- Chunk: what a put does. KEYS, ARGV: see the chunk kv_expect; the key, its value, the revision that the key must have.
-- Returns the time that the caller has seen and the new revision.
-- include: kv_expect
local function put(key, value, prev)
  local err = unexpected(key, prev)
  if err then
    return err
  end
  local revision = new_revision()
  redis.call('ZADD', KEYS[3], 0, key)
  if redis.call('HEXISTS', KEYS[2], key) == 0 then
    redis.call('HSET', KEYS[1], key, value)
    redis.call('HSET', KEYS[2], key, revision) -- from here on it is there
  else
    redis.call('HSET', KEYS[2], key, revision) -- a failure after this leaves the old value, which counts as changed
    redis.call('HSET', KEYS[1], key, value)
  end
  return {seen, revision}
end
