#!lua flags=allow-oom
-- Takes a queue out of those with moves, unless another move was noted since.
-- KEYS: the sorted set of queues with moves. ARGV: generation, when its last move was noted as far as the caller knows.
-- Returns how many queues that were.
if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then
  return redis.call('ZREM', KEYS[1], ARGV[1])
end
return 0
