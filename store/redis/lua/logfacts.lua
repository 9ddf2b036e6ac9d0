-- Chunk: the facts of a partition's records, apart from what they say. The hash f has a field for each block of 64
-- records, by the number of the block: the highest time of a record in it, then for each record its time, the sizes of
-- all records before it, and when it was appended; each a double of 8 bytes. So sizes and times are found without reading a
-- record. A record without a time of its own has not a number for it: its time is when it was appended, shown by the wall clock.
-- The highest time is that of records with their own. The fields "2:<n>" and "3:<n>" are the highest times of 64 blocks and of
-- 64 x 64 blocks, and after a space when the last record without a time of its own was appended.
local perBlock, headLen, rowLen = 64, 8, 24

local function blockOf(offset)
  return math.floor(offset / perBlock)
end

local noTime = 0 / 0

-- stretchTimes are the highest time of several blocks, and when the last record without a time of its own was appended. What
-- earlier versions wrote has no such records.
local function stretchTimes(text)
  local own, stamp = string.match(text, '^(%S+) ?(%S*)$')
  return tonumber(own), tonumber(stamp) or -math.huge
end

-- blockTimes are the same of a block.
local function blockTimes(rows)
  for at = #rows - rowLen + 1, headLen + 1, -rowLen do
    local time, _, appended = struct.unpack('<ddd', rows, at)
    if time ~= time then
      return struct.unpack('<d', rows), appended
    end
  end
  return struct.unpack('<d', rows), -math.huge
end

-- The time of a record, the sizes before it and when it was appended.
local function factsOf(f, offset)
  local rows = redis.call('HGET', f, blockOf(offset))
  return struct.unpack('<ddd', rows, headLen + offset % perBlock * rowLen + 1)
end

-- The sizes of all records before an offset, which may be the end or in a hole.
local function sizesBefore(f, part, offset)
  offset = behindHoles(part, offset)
  if offset == part.next then
    return part.total
  end
  local _, before = factsOf(f, offset)
  return before
end

-- The first offset from low up to high for which holds is true; high if there is none. Once true, holds stays true.
local function firstThat(low, high, holds)
  if low < high and holds(low) then
    return low -- mostly, nothing leaves
  end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if holds(middle) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end
