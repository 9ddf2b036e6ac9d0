-- Chunk: the condition of a change. prev is the revision that the key must have: 0 if it must not exist, or 'any'.
-- KEYS[2] is the hash of revisions.
local function unexpected(key, prev)
  if prev == 'any' then
    return nil
  end
  local have = redis.call('HGET', KEYS[2], key) or '0'
  if have ~= prev then
    return redis.error_reply('CONFLICT have revision ' .. have)
  end
end
