#!lua
-- The second step of a move, in the target: appends the messages, unless that was done before.
-- KEYS: those of the target. ARGV: as for every queue, with an empty revision, then
--   5   id of the move, empty if there is nothing to insert
--   6…  for each message: body, size, group, priority, end of the time to live or 0, from, origin
-- Returns {now, 1, next due}.
-- include: queue_begin
-- include: queue_moves

local early = begin()
if early then
  return early
end
local id = ARGV[5]
if id ~= '' and redis.call('HSETNX', key.moves, IN .. id, text(now)) == 1 then
  for i = 6, #ARGV, 7 do
    add({
      size = tonumber(ARGV[i + 1]), group = ARGV[i + 2], priority = tonumber(ARGV[i + 3]), expires = tonumber(ARGV[i + 4]),
      from = ARGV[i + 5],
    }, now, ARGV[i], ARGV[i + 6])
  end
  save()
  announce()
end
return { now, 1, next_due() }
