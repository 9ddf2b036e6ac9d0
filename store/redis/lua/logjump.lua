-- Chunk: how a partition follows the caller into another time line.
-- include: clock
-- include: log

local aligned = 262144 -- 2^18: where holes end, all blocks of facts begin

-- Lets a partition go on above all offsets that lost time lines may have given out, if it does not know the caller's bump
-- yet. They gave out 256 a millisecond or less, or had not given out 2^20 more than are known.
local function joinTimeLine(c, part)
  if bump <= part.fenced or bump <= (tonumber(redis.call('HGET', c, 'fenced')) or 0) then
    return
  end
  local from, holes = part.next, part.holes
  part.next = math.max(math.ceil((from + 1048576) / aligned), math.floor((bump - 1735689600000) / 1024) + 1) * aligned
  if #holes > 0 and holes[#holes] == from then
    holes[#holes] = part.next -- there is nothing between
  else
    holes[#holes + 1], holes[#holes + 2] = from, part.next
  end
  part.first = behindHoles(part, part.first)
  part.fenced = bump
  savePartition(c, part)
end
