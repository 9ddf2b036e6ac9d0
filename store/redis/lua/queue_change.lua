-- Chunk: what Settle does to one message.
-- include: queue_begin

local DONE, TO_READY, TO_LEASED, TO_DEAD = 1, 2, 3, 4 -- targets
local SETTLED, GONE, LOST, DIED = 1, 2, 3, 4 -- outcomes

local changed, released = false, false -- of the whole call

-- moved_away says whether a message went to another queue: then an ack must not look like success.
local function moved_away(seq)
  local span = redis.call('ZRANGEBYSCORE', key.moved_away, seq, '+inf', 'LIMIT', 0, 1)[1]
  return span and tonumber(span) <= seq
end

local function give_back(m, c)
  if c.uncount then
    m.entered = m.entered - 1
  elseif m.state == LEASED then
    leave_visit(m, now, GIVEN_BACK, c.reason)
  end
  leave(m)
  if c.due <= now then
    set_ready(m, now)
  else
    set_delayed(m, c.backs and BACKOFF or DELAYED, c.due)
    pass(SWEEP_LIMIT) -- its retention may end at once
  end
end

-- change carries out an effective change. It returns the outcome.
local function change(m, c)
  changed = true
  if c.target == DONE then
    erase(m, ACKED)
    return SETTLED
  end
  released = released or c.target ~= TO_DEAD and c.due <= now
  if c.reason ~= '' then
    m.reason = c.reason
  end
  if c.target == TO_DEAD then
    if m.state == LEASED then
      leave_visit(m, now, REJECTED, c.reason)
    end
    leave(m)
    set_dead(m)
  elseif c.target == TO_READY then
    give_back(m, c)
  else
    m.extended = 1
    leave(m)
    set_leased(m, c.due)
    pass(SWEEP_LIMIT) -- it may end at once
  end
  if c.wanted ~= TO_DEAD and m.state == DEAD then
    return DIED -- by this change, or since its lease was ended by it
  end
  return SETTLED
end

-- settle_held changes a message in the name of who holds it, or held it last.
local function settle_held(m, c, token, strict)
  if m.token == 0 or m.token ~= token or m.state == DEAD or strict and m.state ~= LEASED then
    return LOST
  end
  local waits = m.state == DELAYED or m.state == BACKOFF
  if c.target == TO_READY then
    if waits then
      return SETTLED -- given back already: a repeat does not draw a new delay
    end
    if c.uncount and m.state ~= LEASED then
      return LOST
    end
    if not c.uncount and used_up(m) and settings.lazy == 0 then
      c.target = TO_DEAD
    end
    c.backs = c.target == TO_READY
  elseif c.target == TO_LEASED and waits then
    return LOST -- a late heartbeat does not undo a nack
  end
  c.uncount = c.uncount and c.target == TO_READY
  return change(m, c)
end

-- settle_any changes a message whoever holds it.
local function settle_any(m, c, selected)
  c.uncount = c.uncount and selected and m.state == LEASED and c.target == TO_READY
  if c.target == TO_READY then
    if m.state == DEAD or m.state == LEASED and not selected then
      return LOST
    end
    if m.state == LEASED and not c.uncount and used_up(m) and settings.lazy == 0 then
      c.target = TO_DEAD
    end
    c.backs = m.state == LEASED and c.target == TO_READY
    if c.backs then
      c.due = clocks.in_elapsed(c.due) -- a backoff lasts for a time
    end
  elseif c.target == TO_LEASED and m.state ~= LEASED then
    return LOST
  elseif c.target == TO_DEAD and m.state == DEAD then
    return SETTLED
  end
  return change(m, c)
end

-- finish writes what changed and returns when time changes the queue next.
local function finish()
  local due = next_due()
  if changed then
    local free = frees(released)
    save()
    if free then
      announce()
    end
  end
  return due
end
