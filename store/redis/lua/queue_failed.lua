-- What is done when a script that changes a queue fails: Redis keeps what it has written before. The queue is marked as to be
-- put right before the next call, see queue_repair.lua. If that cannot be written, the counter without which open does so is
-- removed.
local text = type(result) == 'table' and result.err or tostring(result)
if redis.pcall('HEXISTS', KEYS[1], 'settings') == 1 then
  local marked = redis.pcall('HSET', KEYS[1], 'work', 'repair ')
  if type(marked) == 'table' then
    redis.pcall('HDEL', KEYS[1], 'ends')
  end
end
