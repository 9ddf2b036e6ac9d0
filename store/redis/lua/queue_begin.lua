-- Chunk: how every call to a queue begins.
-- include: queue_due

-- begin returns nothing when the call can be carried out, else what to reply: an error, or a status that says that something
-- has to come first: {now, 0} when a bounded part of it was done, {now, 2} when it is queue_work's, {now, 3, how many} when the
-- caller does not know yet that the queue has shards.
local function begin()
  local refused = open()
  if refused then
    return refused
  end
  if counters.work ~= '' then
    return { now, 2 }
  end
  local done = pass(SWEEP_LIMIT)
  if done > 0 then
    save()
  elseif clocks.set then
    save_counters()
  end
  if done >= SWEEP_LIMIT then
    return { now, 0 }
  end
end
