#!lua flags=allow-oom
-- Reads what the first step of a move noted, to go on with it.
-- KEYS: those of the source. ARGV: as for every queue, with an empty revision, then 5 the id of the move.
-- Returns {now, 1, commit, intent}, or {now, 1, commit} when the source knows nothing of it any more.
-- include: queue_begin
-- include: queue_moves

local early = begin()
if early then
  return early
end
local intent = find_intent(ARGV[5])
if intent then
  return { now, 1, made(), show_intent(intent) }
end
return { now, 1, made() }
