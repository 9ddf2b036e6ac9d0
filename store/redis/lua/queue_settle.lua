#!lua flags=allow-oom
-- Changes messages one after the other.
-- KEYS: those of the queue. ARGV: as for every queue, then
--   5    1 to refuse items whose lease has ended
--   6…   for each item: sequence, token (empty for any), target, after (ms), 1 to take the delivery back, reason
-- Returns {now, 1, commit, next due, an outcome for each item}.
-- include: queue_change

local function settle(i)
  local seq = tonumber(ARGV[i])
  local m = find(seq)
  if not m then
    return moved_away(seq) and LOST or GONE
  end
  if m.state == MOVING then
    return LOST
  end
  local c = {
    target = tonumber(ARGV[i + 2]), due = now + tonumber(ARGV[i + 3]), uncount = ARGV[i + 4] == '1', reason = ARGV[i + 5],
  }
  c.wanted = c.target
  if ARGV[i + 1] == '' then
    return settle_any(m, c, false)
  end
  return settle_held(m, c, tonumber(ARGV[i + 1]), ARGV[5] == '1')
end

-- Most items are acks of leased messages of which nothing is to be remembered, in queues without lanes. These are carried
-- out without making a table of each. It comes to the same as settle.
local gone, gone_n = {}, 0

local function ack_leased(i, seq, record)
  if not record or messages[seq] ~= nil or ARGV[i + 2] ~= '1' or ARGV[i + 1] == '' then
    return nil
  end
  local state, _, _, token, _, _, _, _, visited, size, _, _, _, from = cmsgpack.unpack(string.sub(record, #LIST_OF_16 + 1))
  if state ~= LEASED or token ~= tonumber(ARGV[i + 1]) or visited ~= 0 or from ~= '' then
    return nil
  end
  gone_n = gone_n + 1
  gone[gone_n], deleted[#deleted + 1], messages[seq] = digits(seq), seq, false
  counters.leased, counters.bytes = counters.leased - 1, counters.bytes - size
  counters.leased_bytes = counters.leased_bytes - size
  return SETTLED
end

local function write_acked()
  if gone_n > 0 then
    in_parts(gone, function(...)
      redis.call('ZREM', key.leases, ...)
      redis.call('ZREM', key.order, ...)
      redis.call('HDEL', key.touched, ...)
    end)
    changed, ends_changed = true, true
  end
end

local early = begin()
if early then
  return early
end
local outcomes, seqs, ids = {}, {}, {}
for i = 6, #ARGV, 6 do
  seqs[#seqs + 1] = tonumber(ARGV[i])
  ids[#ids + 1] = digits(seqs[#seqs])
end
local n, plain = 0, not settings.has_lanes and settings.history == 0
in_parts(ids, function(...)
  for _, record in ipairs(redis.call('HMGET', key.touched, ...)) do
    n = n + 1
    local seq = seqs[n]
    outcomes[n] = plain and ack_leased(6 * n, seq, record)
    if record and messages[seq] == nil then
      messages[seq] = unpack_touched(seq, record)
    end
  end
end)
write_acked()
for n = 1, #seqs do
  outcomes[n] = outcomes[n] or settle(6 * n)
end
local due = finish()
local reply = { now, 1, made(), due }
for _, outcome in ipairs(outcomes) do
  reply[#reply + 1] = outcome
end
return reply
