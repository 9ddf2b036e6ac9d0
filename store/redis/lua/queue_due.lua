-- Chunk: what time alone changes, and when it does so next.
-- include: queue_message

-- forget_ended drops up to so much of what is remembered and has ended: whoever looks also looks at the time.
local function forget_ended(table, ends, limit)
  local list = redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, limit)
  if #list > 0 then
    redis.call('ZREM', ends, unpack(list))
    redis.call('HDEL', table, unpack(list))
  end
end

-- each_due calls f with the sequences and times of up to limit members of an index that are due, or between two scores, and
-- counts them.
local function each_due(index, limit, f, from, to)
  local list = ask('ZRANGEBYSCORE', index, from or '-inf', to or now, 'WITHSCORES', 'LIMIT', 0, limit)
  for i = 1, #list, 2 do
    f(list[i], tonumber(list[i + 1]))
  end
  return #list / 2
end

local function end_lease(id, due)
  local m = find(tonumber(id))
  leave_visit(m, due, RAN_OUT, '')
  leave(m)
  if used_up(m) and settings.lazy == 0 then
    set_dead(m)
  else
    set_ready(m, due)
  end
end

-- end_by_wall ends a delay that the wall clock ends. If that was set, it ends now.
local function end_by_wall(id, due)
  local m = find(tonumber(id))
  leave(m)
  set_ready(m, clocks.set and now or clocks.in_elapsed(due))
end

local function end_delay(id, due)
  local m = find(tonumber(id))
  leave(m)
  set_ready(m, due)
end

-- pass carries out what time has made due, up to a limit. It returns how much it did.
local function pass(limit)
  local ends = first_end()
  if ends < 0 or ends > now then
    return 0
  end
  local done = each_due(key.leases, limit, end_lease)
  done = done + each_due(key.delays, limit - done, end_delay)
  if counters.waits ~= '' then
    done = done + each_due(key.delays, limit - done, end_by_wall, clocks.BY_WALL, text(clocks.BY_WALL + now + clocks.ahead))
  end
  if settings.group_limited > 0 then
    done = done + each_due(key.spent, limit - done, note_group)
  end
  arrange_all()
  return done
end

-- eldest is the ready message that first became available, and its tick; nil when there is none.
local function eldest()
  if counters.ready == 0 then
    return nil
  end
  local first = ask('ZRANGE', key.by_age, 0, 0, 'WITHSCORES')
  if not first[1] then
    lost('ready')
  end
  return tonumber(first[1]), tonumber(first[2])
end

-- full says whether the queue has as many leases as it may.
local function full() return settings.max_in_flight > 0 and counters.leased >= settings.max_in_flight end

-- offers says whether there is a message to choose, limits of the whole queue apart.
local function offers()
  if settings.has_groups then
    arrange_all()
    return ask('ZCARD', key.servable) > 0
  end
  return counters.ready > 0
end

-- rate_allows is when the queue's rate allows the next delivery.
local function rate_allows()
  return allowed(counters.ahead, counters.ahead_ns, settings.interval, settings.interval_ns)
end

local function claimable()
  return offers() and not full() and (settings.limited == 0 or rate_allows() <= now)
end

-- next_due is when time alone changes the queue; -1 when it does not.
local function next_due()
  arrange_all()
  local due = first_end() < 0 and math.huge or counters.ends
  local function first(index, count, after)
    if count > 0 then
      due = math.min(due, after(tonumber(ask('ZRANGE', index, 0, 0, 'WITHSCORES')[2])))
    end
  end
  first(key.expiring, counters.expiring, function(at) return math.max(at, clocks.protected) end)
  if settings.retains > 0 then
    first(key.by_age, counters.ready, expiry)
    first(key.dead, counters.dead, expiry)
  end
  if settings.limited > 0 and rate_allows() > now and offers() and not full() then
    due = math.min(due, rate_allows())
  end
  return due == math.huge and -1 or due
end

-- frees says whether a change that took messages out of their states may let a waiting claim or send go on: messages
-- became ready, a group or a limit let go of some, or a bounded queue has room.
local function frees(released)
  if released or settings.max_messages > 0 or settings.max_bytes > 0 then
    return true
  end
  return (settings.has_lanes or settings.max_in_flight > 0) and claimable()
end

-- late says what becomes of a ready message: it is gone past its retention, and gone or dead past its time to live.
local function late(m)
  if settings.retains > 0 and expiry(m.avail) <= now then
    return 'gone'
  end
  if m.expires > 0 and m.expires <= clocks.lapse_limit() then
    return settings.expired_dead > 0 and 'lapsed' or 'gone'
  end
end
