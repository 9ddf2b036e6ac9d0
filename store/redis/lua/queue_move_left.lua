#!lua flags=allow-oom
-- Looks for moves that are not concluded.
-- KEYS: those of the queue. ARGV: as for every queue, with an empty revision, then 5 how long (ms) a move out of the queue
-- may take before it stands still.
-- Returns {now, 1, commit, 1 if there are any, ids of moves that go out and stand still, ids of moves that came in and may be
-- forgotten once their sources know nothing of them}, up to 100 of each.
-- include: queue_begin
-- include: queue_moves

local early = begin()
if early then
  return early
end
local before = '(' .. text(now)
local arrived = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', key.arrivals, '-inf', before, 'LIMIT', 0, 100)) do
  if string.sub(id, 1, 1) == REFUSED then
    redis.call('ZREM', key.arrivals, id)
  else
    arrived[#arrived + 1] = id
  end
end
local any = redis.call('HLEN', key.moves) + redis.call('ZCARD', key.arrivals) > 0
return { now, 1, made(), any and 1 or 0, moves_out(tonumber(ARGV[5])), arrived }
