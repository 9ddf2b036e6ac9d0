#!lua flags=allow-oom
-- The last step of a move, in the target: forgets its id.
-- KEYS: those of the target. ARGV: as for every queue, with an empty revision, then 5 the id of the move.
-- Returns {now, 1}.
-- include: queue_begin
-- include: queue_moves

local early = begin()
if early then
  return early
end
redis.call('HDEL', key.moves, IN .. ARGV[5])
return { now, 1 }
