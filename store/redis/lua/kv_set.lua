-- Chunk: what a put does. KEYS, ARGV: see the chunk kv_expect; the key, its value, the revision that the key must have.
-- Returns the time that the caller has seen and the new revision.
-- include: kv_expect
local function put(key, value, prev)
  local err = unexpected(key, prev)
  if err then
    return err
  end
  local revision = new_revision()
  redis.call('HSET', KEYS[1], key, value)
  redis.call('HSET', KEYS[2], key, revision)
  redis.call('ZADD', KEYS[3], 0, key)
  return {seen, revision}
end
