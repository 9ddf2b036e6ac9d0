#!lua
-- The second step of a move, in the target: appends the messages, unless that was done before.
-- KEYS: those of the target. ARGV: as for every queue, with an empty revision, then
--   5   id of the move, empty if there is nothing to insert; 6 until when it may be inserted
--   7…  for each message: body, size, group, priority, end of the time to live or 0, from, origin
-- Returns {now, 1, commit, verdict, next due}. The verdict is inserted, or late, or refused by queue_move_refuse.
-- include: queue_begin
-- include: queue_moves

local early = begin()
if early then
  return early
end
local id = ARGV[5]
if id == '' or redis.call('ZSCORE', key.arrivals, id) then
  return { now, 1, made(), 'inserted', next_due() }
end
if redis.call('ZSCORE', key.arrivals, REFUSED .. id) then
  return { now, 1, made(), 'refused', -1 }
end
-- By now it may have been inserted and forgotten again.
if tonumber(ARGV[6]) < now then
  return { now, 1, made(), 'late', -1 }
end
redis.call('HSET', key.counters, 'pending', text(counters.next) .. ' ' .. id) -- should this fail half-way, see queue_repair.lua
redis.call('ZADD', key.arrivals, ARGV[6], id)
for i = 7, #ARGV, 7 do
  add(tonumber(ARGV[i + 1]), ARGV[i + 2], tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]), ARGV[i + 5], now, ARGV[i], ARGV[i + 6])
end
save()
redis.call('HDEL', key.counters, 'pending')
announce()
return { now, 1, made(), 'inserted', next_due() }
