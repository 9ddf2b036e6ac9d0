#!lua flags=no-writes
-- Keys in bytewise order, with their values, up to a number of keys and at least one but then about 4 MiB of values.
-- KEYS: values hash, revisions hash, sorted set of keys. ARGV: the bounds as ZRANGEBYLEX takes them, the number of keys.
-- Returns key, value and revision of each, one after the other. What has the revision 0 is to be passed over.
local room = 4 * 1024 * 1024
local found = {}
for _, key in ipairs(redis.call('ZRANGEBYLEX', KEYS[3], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])) do
  local value, revision = redis.call('HGET', KEYS[1], key), redis.call('HGET', KEYS[2], key)
  if not value or not revision then
    revision = 0 -- it is not there: a change of it has failed half-way
  end
  found[#found + 1] = key
  found[#found + 1] = value or ''
  found[#found + 1] = revision
  room = room - #found[#found - 1]
  if room < 0 then
    break
  end
end
return found
