#!lua flags=allow-oom
-- Finds one message by where it was first sent.
-- KEYS: those of the queue. ARGV: as for every queue, with an empty revision, then
--   5  where it was first sent, as in the field from; 6 the sequence, if that was here, else 0
-- Returns {now, 1, commit, 1, view} of a message that is here; {now, 1, commit, 2, departure} of one that was and is remembered: sequence, when
-- and how it was removed, tick of first availability, deliveries, token, beginning of the last lease, consumer, reason, group,
-- priority, end of the time to live, visits; else {now, 1, commit, 0}.
-- include: queue_begin
-- include: queue_view

local from, own = ARGV[5], tonumber(ARGV[6])

local function here()
  local m = find(own)
  if m and m.from == '' then
    return m
  end
  local seq = redis.call('HGET', key.moved_in, from)
  return seq and find(tonumber(seq))
end

-- departed is the latest departure of such a message.
local function departed()
  for last = -1, -redis.call('LLEN', key.history), -100 do
    local list = redis.call('LRANGE', key.history, last - 99, last)
    for i = #list, 1, -1 do
      local d = cmsgpack.unpack(list[i])
      if d[2] == from or d[2] == '' and d[1] == own then
        table.remove(d, 2)
        return d
      end
    end
  end
end

local early = begin()
if early then
  return early
end
local m = here()
if m then
  return { now, 1, made(), 1, view(m) }
end
local d = departed()
if d then
  return { now, 1, made(), 2, d }
end
return { now, 1, made(), 0 }
