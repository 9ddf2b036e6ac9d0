-- Chunk: whether the record of a tag (see fence.lua) is still the one that the caller knows, for scripts that may make once more
-- what was lost. ARGV[2] has the field made of that record behind the bump.
-- include: clock

-- forgotten is the refusal of a call if it is not: somebody has emptied the server while it ran. The caller enters another
-- record, with a higher bump, and repeats the call. Else the bump is that of the record, if it is higher than the caller's.
local function forgotten(record)
  local made = string.match(ARGV[2], '^%d+ %d+ (%d+)$')
  if not made then
    return nil
  end
  local have = redis.call('HMGET', record, 'made', 'bump')
  if have[1] ~= made then
    return redis.error_reply('FORGOTTEN the record of who serves these keys is gone, or another one')
  end
  bump = math.max(bump, tonumber(have[2]))
end
