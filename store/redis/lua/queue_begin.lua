-- Chunk: how every call to a queue begins.
-- include: queue_due
-- include: queue_relay

-- begin returns nothing when the call can be carried out, else what to reply: an error, or {now, 0} when a bounded part
-- was done of what had to come first, and the call is to be made again.
local function begin()
  local refused = open()
  if refused then
    return refused
  end
  forget_ended(key.once, key.once_ends)
  forget_ended(key.known, key.known_ends)
  if counters.work ~= '' then
    relay()
    save()
    return { now, 0 }
  end
  local done = pass(SWEEP_LIMIT)
  if done > 0 then
    save()
  end
  if done >= SWEEP_LIMIT then
    return { now, 0 }
  end
end
