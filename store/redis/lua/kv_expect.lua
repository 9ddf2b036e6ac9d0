-- Chunk: how a change of the key-value part begins.
-- KEYS: hash of values, hash of revisions, sorted set of keys, last revision, time lines, record of the tag. ARGV: time (2), key
-- and what else the change needs.
-- include: record

-- unexpected is the refusal of a change that is made on a condition: prev is the revision that the key must have, 0 if it
-- must not exist, or 'any'. One whose caller knows of another record is refused before that.
local function unexpected(key, prev)
  local err = forgotten(KEYS[6])
  if err then
    return err
  end
  if prev == 'any' then
    return nil
  end
  local have = redis.call('HGET', KEYS[2], key) or '0'
  if have ~= prev then
    return redis.error_reply('CONFLICT have revision ' .. have)
  end
end

local MOST_CUTS = 32

-- join sees to it that revisions are given out in the caller's time line: the first one there is above all that the lost ones
-- may have given out. Those passed over are noted as a cut: last before and last of them.
local function join()
  if bump == 0 then
    return
  end
  local told = redis.call('HMGET', KEYS[5], 'fenced', 'cuts')
  if bump <= (tonumber(told[1]) or 0) then
    return
  end
  local last = tonumber(redis.call('GET', KEYS[4])) or 0
  local first = beyond(last)
  local cuts = cmsgpack.unpack(told[2] or '\144')
  if cuts[#cuts] == last then
    cuts[#cuts] = first
  else
    cuts[#cuts + 1], cuts[#cuts + 2] = last, first
  end
  if #cuts > 2 * MOST_CUTS then
    table.remove(cuts, 1)
    table.remove(cuts, 1)
  end
  redis.call('SET', KEYS[4], string.format('%.0f', first))
  redis.call('HSET', KEYS[5], 'fenced', string.format('%.0f', bump), 'cuts', cmsgpack.pack(cuts))
end

-- new_revision is the next one.
local function new_revision()
  join()
  return redis.call('INCR', KEYS[4])
end
