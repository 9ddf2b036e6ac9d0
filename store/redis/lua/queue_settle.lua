#!lua flags=allow-oom
-- Changes messages one after the other.
-- KEYS: those of the queue. ARGV: as for every queue, then
--   5    1 to refuse items whose lease has ended
--   6…   for each run of items that differ in their sequences only: token (empty for any), target, after (ms), earliest time by
--        the wall clock (ms, 0 for none), 1 to take the deliveries back, reason, how many there are, then their sequences
--        in 16 digits
-- Returns {now, 1, commit, next due, an outcome for each item}.
-- include: queue_quick

-- quick acks messages that are all leased under the tokens given, and of which nothing is to be remembered.
local function quick()
  local argv, ids, tokens, n, i = ARGV, {}, {}, 0, 6
  while argv[i] do
    local token, first = tonumber(argv[i]), i + 7
    if not token or argv[i + 1] ~= '1' then
      return nil
    end
    i = first + tonumber(argv[i + 6])
    for j = first, i - 1 do
      n = n + 1
      ids[n], tokens[n] = argv[j], token
    end
  end
  if n == 0 or n > 1000 or not open_plain() or counters.removed + n >= 1000 then -- then the stream is to be made dense, too
    return nil
  end
  local entries, seen, bytes, reply = {}, {}, 0, { now, 1, 0, 0 }
  for k, record in ipairs(redis.call('HMGET', key.touched, unpack(ids))) do
    local id = ids[k]
    if not record or seen[id] then
      return nil
    end
    local state, _, _, token, _, _, _, _, visited, size, _, _, _, from = cmsgpack.unpack(string.sub(record, #LIST_OF_16 + 1))
    if state ~= LEASED or token ~= tokens[k] or visited ~= 0 or from ~= '' then
      return nil
    end
    seen[id], bytes, entries[k], reply[k + 4] = true, bytes + size, id .. '-1', 1
  end
  redis.call('XDEL', key.messages, unpack(entries))
  redis.call('ZREM', key.leases, unpack(ids))
  redis.call('ZREM', key.order, unpack(ids))
  redis.call('HDEL', key.touched, unpack(ids))
  local c = counters
  c.leased, c.bytes, c.leased_bytes, c.removed = c.leased - n, c.bytes - bytes, c.leased_bytes - bytes, c.removed + n
  save_plain()
  reply[3], reply[4] = c.commits, due_plain()
  return reply
end

local at_once = quick()
if at_once then
  return at_once
end
-- include: queue_change

local ids, runs = {}, {} -- of each item, the sequence in 16 digits, and what is to be done with it

-- read_items reads the items.
local function read_items()
  local argv, n, i = ARGV, 0, 6
  while argv[i] do
    local run = {
      token = tonumber(argv[i]), target = tonumber(argv[i + 1]), due = clocks.later(now + tonumber(argv[i + 2]), tonumber(argv[i + 3])),
      uncount = argv[i + 4] == '1', reason = argv[i + 5],
    }
    local first = i + 7
    i = first + tonumber(argv[i + 6])
    for j = first, i - 1 do
      n = n + 1
      ids[n], runs[n] = argv[j], run
    end
  end
end

local function settle(seq, run)
  local m = find(seq)
  if not m then
    return moved_away(seq) and LOST or GONE
  end
  if m.state == MOVING then
    return LOST
  end
  local c = { target = run.target, wanted = run.target, due = run.due, uncount = run.uncount, reason = run.reason }
  if not run.token then
    return settle_any(m, c, false)
  end
  return settle_held(m, c, run.token, ARGV[5] == '1')
end

-- Most items are acks of leased messages of which nothing is to be remembered, in queues without lanes. These are carried
-- out without making a table of each. It comes to the same as settle.
local gone, gone_n, gone_bytes = {}, 0, 0

local function ack_leased(id, seq, run, record)
  if not record or messages[seq] ~= nil or run.target ~= DONE or not run.token then
    return nil
  end
  local state, _, _, token, _, _, _, _, visited, size, _, _, _, from = cmsgpack.unpack(string.sub(record, #LIST_OF_16 + 1))
  if state ~= LEASED or token ~= run.token or visited ~= 0 or from ~= '' then
    return nil
  end
  gone_n, gone_bytes = gone_n + 1, gone_bytes + size
  gone[gone_n], deleted[#deleted + 1], messages[seq] = id, seq, false
  return SETTLED
end

local function write_acked()
  if gone_n > 0 then
    counters.leased, counters.bytes = counters.leased - gone_n, counters.bytes - gone_bytes
    counters.leased_bytes = counters.leased_bytes - gone_bytes
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
read_items()
local plain = not settings.has_lanes and settings.history == 0
local outcomes, seqs, n = {}, {}, 0
in_parts(ids, function(...)
  for _, record in ipairs(redis.call('HMGET', key.touched, ...)) do
    n = n + 1
    local seq = tonumber(ids[n])
    seqs[n], outcomes[n] = seq, plain and ack_leased(ids[n], seq, runs[n], record)
    if record and messages[seq] == nil then
      messages[seq] = unpack_touched(seq, record)
    end
  end
end)
write_acked()
for i, seq in ipairs(seqs) do
  outcomes[i] = outcomes[i] or settle(seq, runs[i])
end
local due = finish()
local reply = { now, 1, made(), due }
for i, outcome in ipairs(outcomes) do
  reply[i + 4] = outcome
end
return reply
