#!lua flags=no-writes
-- Finds the first record of a partition whose time is not before another; the end if there is none. Stretches end before
-- a hole or where it ends.
-- KEYS: c, facts. ARGV: partition, time in milliseconds, by how much the wall clock is ahead of elapsed time (ms).
-- Returns its offset.
-- include: log
-- include: logfacts
local log = openLog(KEYS[1])
if not log then
  return redis.error_reply('GONE no such log')
end
local number, at, f = tonumber(ARGV[1]), tonumber(ARGV[2]), KEYS[2]
local stamp_at = at - ARGV[3]
if number >= log.partitions then
  return redis.error_reply('STALE partition ' .. number .. ' of ' .. log.partitions)
end
local part = openPartition(KEYS[1], number)

-- The highest time of the records that begin with an offset, for the longest stretch of which it is known, and its length.
local function stretches(offset)
  local block, list = offset / perBlock, {}
  if offset % (perBlock * perBlock * perBlock) == 0 then
    list[1] = {perBlock * perBlock * perBlock, '3:' .. block / perBlock / perBlock}
  end
  if offset % (perBlock * perBlock) == 0 then
    list[#list + 1] = {perBlock * perBlock, '2:' .. block / perBlock}
  end
  return list
end

local function passable(offset)
  for _, stretch in ipairs(stretches(offset)) do
    local own, stamp = stretchTimes(redis.call('HGET', f, stretch[2]))
    if own < at and stamp < stamp_at then
      return stretch[1]
    end
  end
  if offset % perBlock == 0 then
    local own, stamp = blockTimes(redis.call('HGET', f, offset / perBlock))
    if own < at and stamp < stamp_at then
      return perBlock
    end
  end
  local time, _, appended = factsOf(f, offset)
  if time ~= time then
    return appended < stamp_at and 1 or 0
  end
  return time < at and 1 or 0
end

local offset = part.first
while offset < part.next do
  local step = passable(offset)
  if step == 0 then
    return offset
  end
  offset = behindHoles(part, offset + step)
end
return part.next
