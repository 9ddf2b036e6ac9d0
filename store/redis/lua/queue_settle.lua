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

local early = begin()
if early then
  return early
end
local outcomes, seqs = {}, {}
for i = 6, #ARGV, 6 do
  seqs[#seqs + 1] = tonumber(ARGV[i])
end
load(seqs)
for i = 6, #ARGV, 6 do
  outcomes[#outcomes + 1] = settle(i)
end
local due = finish()
local reply = { now, 1, made(), due }
for _, outcome in ipairs(outcomes) do
  reply[#reply + 1] = outcome
end
return reply
