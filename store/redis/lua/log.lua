-- Chunk: a log. Its hash c has the fields revision, partitions, age (retention in milliseconds, 0 for ever), bytes
-- (retention in bytes, 0 without bound) and now, and for each partition that ever had a record p<number>, see below. fenced,
-- the bump that its creator knew, is read in logjump only.

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
-- kept is the first block of facts that was not removed yet. fenced is the last bump that it knows of. holes are the
-- offsets that were passed over then, of which none holds a record: beginning and end of each, one after the other. Each
-- ends at a multiple of 2^18; first is never inside one, and next only at an end.
local function openPartition(c, p)
  local state = redis.call('HGET', c, 'p' .. p)
  if not state then
    return {number = p, first = 0, next = 0, gone = 0, total = 0, call = 0, kept = 0, fenced = 0, holes = {}}
  end
  local first, next, gone, total, call, kept, rest = string.match(state, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)(.*)$')
  local part = {
    number = p, first = tonumber(first), next = tonumber(next), gone = tonumber(gone), total = tonumber(total),
    call = tonumber(call), kept = tonumber(kept), fenced = 0, holes = {},
  }
  if rest ~= '' then
    for n in string.gmatch(rest, '%d+') do
      part.holes[#part.holes + 1] = tonumber(n)
    end
    part.fenced = table.remove(part.holes, 1)
  end
  return part
end

local function packPartition(part)
  local state = string.format('%.0f %.0f %.0f %.0f %.0f %.0f', part.first, part.next, part.gone, part.total, part.call, part.kept)
  if part.fenced > 0 then
    state = state .. string.format(' %.0f', part.fenced)
    for _, n in ipairs(part.holes) do
      state = state .. string.format(' %.0f', n)
    end
  end
  return state
end

local function savePartition(c, part) redis.call('HSET', c, 'p' .. part.number, packPartition(part)) end

-- The first offset from one on that holds a record or may come to do so.
local function behindHoles(part, offset)
  local holes = part.holes
  for i = 1, #holes, 2 do
    if offset < holes[i] then
      return offset
    end
    if offset < holes[i + 1] then
      return holes[i + 1]
    end
  end
  return offset
end

-- Where the records that follow one without a gap end.
local function endOfRun(part, offset)
  local holes = part.holes
  for i = 1, #holes, 2 do
    if offset < holes[i] then
      return holes[i]
    end
  end
  return part.next
end

-- How many offsets from one up to another hold no record.
local function missing(part, from, to)
  local holes, n = part.holes, 0
  for i = 1, #holes, 2 do
    n = n + math.max(math.min(holes[i + 1], to) - math.max(holes[i], from), 0)
  end
  return n
end

-- What calls are told of a partition: first, next, bytes and how many offsets between hold no record.
local function boundsOf(part)
  return part.first, part.next, part.total - part.gone, missing(part, part.first, part.next)
end
