#!lua flags=allow-oom
-- Gives a move that the target calls late another id, in the source: the old one can be inserted no more.
-- KEYS: those of the source. ARGV: as for every queue, with an empty revision, then 5 the id of the move, 6 when it
-- was noted by move_note.
-- Returns {now, 1, commit, new id, intent}, or {now, 1, commit} when the source knows nothing of it any more, or it was noted too long ago.
-- include: queue_begin
-- include: queue_moves

local early = begin()
if early then
  return early
end
local intent = find_intent(ARGV[5])
if not intent or not noted_lately(ARGV[6]) then
  return { now, 1, made() }
end
redis.call('HDEL', key.moves, ARGV[5])
local id = save_intent(intent)
return { now, 1, made(), id, show_intent(find_intent(id)) }
