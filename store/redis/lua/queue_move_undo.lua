#!lua flags=allow-oom
-- Takes the first step of a move back, in the source: the target is gone or cannot take the messages, which become again
-- what they were.
-- KEYS: those of the source. ARGV: as for every queue, with an empty revision, then 5 the id of the move.
-- Returns {now, 1, commit}.
-- include: queue_begin
-- include: queue_moves

local early = begin()
if early then
  return early
end
local intent = find_intent(ARGV[5])
if intent then
  each_moving(intent, function(m)
    counters.bytes = counters.bytes + m.size
    local was, due = m.was, m.due
    m.was = 0
    become(m, was, due)
  end)
  redis.call('HDEL', key.moves, ARGV[5])
  pass(SWEEP_LIMIT)
  save()
  announce()
end
return { now, 1, made() }
