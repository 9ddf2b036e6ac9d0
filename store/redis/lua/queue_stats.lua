#!lua flags=allow-oom
-- Counts the messages of a queue.
-- KEYS: those of the queue. ARGV: as for every queue, with an empty revision.
-- Returns {now, 1, commit, ready, leased, delayed, dead, bytes, tick of the oldest ready one or -1, revision, next due,
-- how many messages are on their way out}.
-- include: queue_begin
-- include: queue_moves

local early = begin()
if early then
  return early
end
local _, oldest = eldest()
return {
  now, 1, made(), counters.ready, counters.leased, counters.delayed, counters.dead,
  counters.bytes, oldest or -1, revision, next_due(),
  moving_out(),
}
