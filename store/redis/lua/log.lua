-- Chunk: a log. Its hash c has the fields revision, partitions, age (retention in milliseconds, 0 for ever), bytes
-- (retention in bytes, 0 without bound) and now, and for each partition that ever had a record p<number>, see below.

local function numbers(list)
  for i = 1, #list do
    list[i] = tonumber(list[i])
  end
  return list
end

-- The settings of a log, or nil if there is no such log.
local function openLog(c)
  local f = redis.call('HMGET', c, 'revision', 'partitions', 'age', 'bytes', 'now')
  if not f[1] then
    return nil
  end
  return {revision = f[1], partitions = tonumber(f[2]), age = tonumber(f[3]), bytes = tonumber(f[4]), now = tonumber(f[5])}
end

-- A partition has the records from first up to, but not including, next. Sizes are counted from its very first record on:
-- gone is that of all records before first, total that of all before next. call is the first record of the last append.
-- kept is the first block of facts that was not removed yet.
local function openPartition(c, p)
  local state = redis.call('HGET', c, 'p' .. p)
  if not state then
    return {number = p, first = 0, next = 0, gone = 0, total = 0, call = 0, kept = 0}
  end
  local n = numbers({string.match(state, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')})
  return {number = p, first = n[1], next = n[2], gone = n[3], total = n[4], call = n[5], kept = n[6]}
end

local function savePartition(c, part)
  redis.call('HSET', c, 'p' .. part.number, string.format('%.0f %.0f %.0f %.0f %.0f %.0f',
    part.first, part.next, part.gone, part.total, part.call, part.kept))
end
