#!lua flags=allow-oom
-- Frees some memory of records that were removed.
-- KEYS: c, stream, facts. ARGV: partition.
-- Returns 1 if there may be more to free, else 0.
-- include: logretention
if not openLog(KEYS[1]) then
  return 0
end
local part = openPartition(KEYS[1], tonumber(ARGV[1]))
if part.next == 0 then
  return 0
end
local left = reclaim(KEYS[2], KEYS[3], part)
savePartition(KEYS[1], part)
return left and 1 or 0
