-- Chunk: what a put does. KEYS: values hash, revisions hash, sorted set of keys, last revision. ARGV: key, value, revision
-- that the key must have. Returns the new revision.
-- include: kv_expect
local function put(key, value, prev)
  local err = unexpected(key, prev)
  if err then
    return err
  end
  local revision = redis.call('INCR', KEYS[4])
  redis.call('HSET', KEYS[1], key, value)
  redis.call('HSET', KEYS[2], key, revision)
  redis.call('ZADD', KEYS[3], 0, key)
  return revision
end
