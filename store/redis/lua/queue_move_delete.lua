#!lua flags=allow-oom
-- The third step of a move, in the source: removes the messages, unless that was done before.
-- KEYS: those of the source. ARGV: as for every queue, with an empty revision, then 5 the id of the move.
-- Returns {now, 1, commit}.
-- include: queue_begin
-- include: queue_moves

local MOST_SPANS = 65536

local early = begin()
if early then
  return early
end
local intent = find_intent(ARGV[5])
if intent then
  each_moving(intent, function(m)
    erase(m, MOVED_AWAY)
    note_moved_away(m.seq)
  end)
  redis.call('ZREMRANGEBYRANK', key.moved_away, 0, -MOST_SPANS - 1)
  local free = frees(false)
  save()
  redis.call('HDEL', key.moves, ARGV[5]) -- last: without it the messages would come back, see queue_repair.lua
  if free then
    announce()
  end
end
return { now, 1, made() }
