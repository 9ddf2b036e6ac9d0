#!lua
-- Notes that moves begin between queues, so that whoever looks after moves looks there.
-- KEYS: the sorted set of queues with moves. ARGV: time (2), generations of queues.
-- Returns {now}.
-- include: clock
local now = queueTime(0)
for i = 3, #ARGV do
  redis.call('ZADD', KEYS[1], 'GT', now, ARGV[i])
end
return {now}
