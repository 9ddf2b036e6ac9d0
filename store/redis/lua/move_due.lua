#!lua flags=no-writes
-- Lists up to 100 queues with moves that began some time ago, the oldest first.
-- KEYS: the sorted set of queues with moves. ARGV: time (2), how long ago (ms).
-- Returns {now, then the generation of each and when its last move was noted}.
-- include: clock
local now = queueTime(0)
return {now, unpack(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3], 'WITHSCORES', 'LIMIT', 0, 100))}
