#!lua flags=allow-oom
-- Does a step of what a change of settings has left to do.
-- KEYS: those of the queue. ARGV: as for every queue, with an empty revision. Returns {now, 1, commit}.
-- include: queue_relay

local refused = open()
if refused then
  return refused
end
if counters.work ~= '' then
  relay()
  save()
end
return { now, 1, made() }
