-- Chunk: what retention removes, and how records leave.
-- include: log
-- include: logfacts

-- Where a partition begins once retention has removed what it may. The records of the last append outlive their bytes,
-- not their age.
local function retained(log, f, part, now, protected)
  local to = part.first
  if log.age > 0 then
    to = firstThat(to, part.next, function(offset)
      offset = behindHoles(part, offset)
      if offset == part.next then
        return true
      end
      local _, _, at = factsOf(f, offset)
      return math.max(at + log.age, protected) > now
    end)
  end
  if log.bytes > 0 and part.total - part.gone > log.bytes then
    to = math.max(to, firstThat(part.first, math.max(part.call, part.first), function(offset)
      return part.total - sizesBefore(f, part, offset) <= log.bytes
    end))
  end
  return behindHoles(part, to)
end

-- When retention has something to remove; -1 if never.
local function retentionDue(log, f, part, now, protected)
  if part.first == part.next then
    return -1
  end
  if log.bytes > 0 and part.total - part.gone > log.bytes and part.first < part.call then
    return now
  end
  if log.age > 0 then
    local _, _, at = factsOf(f, part.first)
    return math.max(at + log.age, protected)
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

-- The next block after one that has facts, or may come to have. Holes end where blocks of all levels begin.
local function blockAfter(part, block)
  return blockOf(behindHoles(part, (block + 1) * perBlock))
end

-- Removes from memory some of what lies before the first record; true if there may be more. Whole nodes of the stream and
-- whole blocks of facts leave. Holes are forgotten with them, but for the last: it says what was lost.
local function reclaim(s, f, part)
  if part.first == 0 then
    return false
  end
  local removed = redis.call('XTRIM', s, 'MINID', '~', string.format('%.0f-0', part.first), 'LIMIT', 10000)
  local upTo, done = blockOf(part.first), 0
  while part.kept < upTo and done < 500 do
    local block = part.kept
    part.kept, done = blockAfter(part, block), done + 1
    redis.call('HDEL', f, block)
    if part.kept % perBlock == 0 then
      redis.call('HDEL', f, '2:' .. blockOf(block))
    end
    if part.kept % (perBlock * perBlock) == 0 then
      redis.call('HDEL', f, '3:' .. blockOf(blockOf(block)))
    end
  end
  local holes = part.holes
  while #holes > 2 and holes[2] <= part.first and blockOf(holes[2]) <= part.kept do
    table.remove(holes, 1)
    table.remove(holes, 1)
  end
  return removed > 0 or part.kept < upTo
end

-- Makes an offset the first one. The records before it are gone at once, their memory follows; true if not all of it did.
local function trimTo(c, s, f, part, offset)
  offset = behindHoles(part, offset)
  part.gone = sizesBefore(f, part, offset)
  part.first = offset
  local left = reclaim(s, f, part)
  savePartition(c, part)
  return left
end
