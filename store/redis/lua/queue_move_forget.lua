#!lua flags=allow-oom
-- The last step of a move, in the target: forgets its id. Its source knows nothing of it any more.
-- KEYS: those of the target. ARGV: as for every queue, with an empty revision, then 5 the id of the move.
-- Returns {now, 1, commit}.
-- include: queue_begin
-- include: queue_moves

local early = begin()
if early then
  return early
end
local latest = redis.call('ZSCORE', key.arrivals, ARGV[5])
if latest and tonumber(latest) < now then
  redis.call('ZREM', key.arrivals, ARGV[5])
end
return { now, 1, made() }
