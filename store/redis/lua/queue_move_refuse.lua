#!lua flags=allow-oom
-- Settles in the target whether a move took place: if it was not inserted yet, it never will be.
-- KEYS: those of the target. ARGV: as for every queue, with an empty revision, then 5 the id of the move, 6 until when it
-- may be inserted.
-- Returns {now, 1, commit, 1 if it was inserted else 0, next due}.
-- include: queue_begin
-- include: queue_moves

local early = begin()
if early then
  return early
end
local inserted = redis.call('ZSCORE', key.arrivals, ARGV[5])
if not inserted then
  redis.call('ZADD', key.arrivals, ARGV[6], REFUSED .. ARGV[5])
  save()
end
return { now, 1, made(), inserted and 1 or 0, next_due() }
