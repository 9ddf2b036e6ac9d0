-- Chunk: what retention removes, and how records leave.
-- include: log
-- include: logfacts

-- Where a partition begins once retention has removed what it may. The records of the last append outlive their bytes,
-- not their age.
local function retained(log, f, part, now)
  local to = part.first
  if log.age > 0 then
    to = firstThat(to, part.next, function(offset)
      local _, _, at = factsOf(f, offset)
      return at + log.age > now
    end)
  end
  if log.bytes > 0 and part.total - part.gone > log.bytes then
    to = math.max(to, firstThat(part.first, math.max(part.call, part.first), function(offset)
      return part.total - sizesBefore(f, part, offset) <= log.bytes
    end))
  end
  return to
end

-- When retention has something to remove; -1 if never.
local function retentionDue(log, f, part, now)
  if part.first == part.next then
    return -1
  end
  if log.bytes > 0 and part.total - part.gone > log.bytes and part.first < part.call then
    return now
  end
  if log.age > 0 then
    local _, _, at = factsOf(f, part.first)
    return at + log.age
  end
  return -1
end

-- The sooner of two such times.
local function sooner(a, b)
  if a < 0 or b >= 0 and b < a then
    return b
  end
  return a
end

-- Removes from memory some of what lies before the first record; true if there may be more. Whole nodes of the stream and
-- whole blocks of facts leave.
local function reclaim(s, f, part)
  if part.first == 0 then
    return false
  end
  local removed = redis.call('XTRIM', s, 'MINID', '~', string.format('%.0f-0', part.first), 'LIMIT', 10000)
  local upTo = math.min(blockOf(part.first), part.kept + 500)
  for block = part.kept, upTo - 1 do
    redis.call('HDEL', f, block)
    if (block + 1) % perBlock == 0 then
      redis.call('HDEL', f, '2:' .. blockOf(block))
    end
    if (block + 1) % (perBlock * perBlock) == 0 then
      redis.call('HDEL', f, '3:' .. blockOf(blockOf(block)))
    end
  end
  part.kept = upTo
  return removed > 0 or upTo < blockOf(part.first)
end

-- Makes an offset the first one. The records before it are gone at once, their memory follows; true if not all of it did.
local function trimTo(c, s, f, part, offset)
  part.gone = sizesBefore(f, part, offset)
  part.first = offset
  local left = reclaim(s, f, part)
  savePartition(c, part)
  return left
end
