#!lua flags=no-writes
-- One key.
-- KEYS: values hash, revisions hash. ARGV: key.
-- Returns the value and its revision; nothing if the key is absent.
local revision = redis.call('HGET', KEYS[2], ARGV[1])
if not revision then
  return {}
end
return {redis.call('HGET', KEYS[1], ARGV[1]), revision}
