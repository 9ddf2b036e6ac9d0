#!lua flags=allow-oom
-- Looks at messages that are selected.
-- KEYS: those of the queue. ARGV: as for every queue, with an empty revision, then
--   5, 6  how many and of what sizes at most, but one
--   7…    the selection, see queue_select.lua
-- Returns {now, 1, commit, where to go on or 0, views}.
-- include: queue_begin
-- include: queue_view

local early = begin()
if early then
  return early
end
local list, next = choose(read_selection(7), tonumber(ARGV[5]), tonumber(ARGV[6]))
local reply = { now, 1, made(), next }
for _, m in ipairs(list) do
  reply[#reply + 1] = view(m)
end
return reply
