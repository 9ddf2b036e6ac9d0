#!lua flags=allow-oom
-- Removes messages past retention or their time to live, or makes the latter dead, up to 1,000. What time has made ready it
-- announces: the process that sweeps knows when that is, others may have those who wait for it.
-- KEYS: those of the queue. ARGV: as for every queue, with an empty revision.
-- Returns {now, 1, commit, expired, lapsed, ready, dead, next due}.
-- include: queue_begin

-- aged is a ready or dead message past retention; nil when there is none.
local function aged()
  if settings.retains == 0 then
    return nil
  end
  local dead = ask('ZRANGE', key.dead, 0, 0, 'WITHSCORES')
  if dead[1] and expiry(tonumber(dead[2])) <= now then
    return tonumber(dead[1])
  end
  local seq, avail = eldest()
  return seq and expiry(avail) <= now and seq or nil
end

local early = begin()
if early then
  return early
end
forget_ended(key.once, key.once_ends, SWEEP_LIMIT)
forget_ended(key.known, key.known_ends, SWEEP_LIMIT)
local expired, lapsed = 0, 0
while expired < SWEEP_LIMIT do
  local seq = aged()
  if not seq then
    break
  end
  erase(find(seq), AGED)
  expired = expired + 1
end
while expired + lapsed < SWEEP_LIMIT do
  local id = ask('ZRANGEBYSCORE', key.expiring, '-inf', clocks.lapse_limit(), 'LIMIT', 0, 1)[1]
  if not id then
    break
  end
  local m = find(tonumber(id))
  if settings.expired_dead > 0 then
    lapse(m)
    lapsed = lapsed + 1
  else
    erase(m, AGED)
    expired = expired + 1
  end
end
local due = next_due()
if expired > 0 or claimable() then
  announce()
end
if expired + lapsed > 0 then
  save()
end
return { now, 1, made(), expired, lapsed, counters.ready, counters.dead, due }
