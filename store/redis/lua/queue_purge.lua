#!lua flags=allow-oom
-- Removes messages that are selected, up to 1,000.
-- KEYS: those of the queue. ARGV: as for every queue, with an empty revision, then 5… the selection, see queue_select.lua
-- Returns {now, 1, commit, how many, where to go on or 0}.
-- include: queue_begin
-- include: queue_select

local early = begin()
if early then
  return early
end
local list, next = choose(read_selection(5), SWEEP_LIMIT)
for _, m in ipairs(list) do
  erase(m, PURGED)
end
if #list > 0 then
  local free = frees(false)
  save()
  if free then
    announce()
  end
end
return { now, 1, made(), #list, next }
