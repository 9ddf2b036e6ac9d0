#!lua flags=allow-oom
-- Changes up to 1,000 messages that are selected.
-- KEYS: those of the queue. ARGV: as for every queue, then
--   5…9  target, after (ms), earliest time by the wall clock (ms, 0 for none), reason, 1 for a delivery that does not count
--   10…  the selection, see queue_select.lua
-- Returns {now, 1, commit, next due, where to go on or 0, an outcome for each message}.
-- include: queue_change
-- include: queue_select

local early = begin()
if early then
  return early
end
local target, due = tonumber(ARGV[5]), clocks.later(now + tonumber(ARGV[6]), tonumber(ARGV[7]))
local list, next = choose(read_selection(10), SWEEP_LIMIT)
local outcomes = {}
for _, m in ipairs(list) do
  local c = { target = target, wanted = target, due = due, reason = ARGV[8], uncount = ARGV[9] == '1' }
  outcomes[#outcomes + 1] = settle_any(m, c, true)
end
local due_next = finish()
local reply = { now, 1, made(), due_next, next }
for _, outcome in ipairs(outcomes) do
  reply[#reply + 1] = outcome
end
return reply
