#!lua
-- Leases ready messages in the order of the queue.
-- KEYS: those of the queue. ARGV: as for every queue, then
--   5  how many at most, 6 bound of the sum of their sizes, 7 how long the lease lasts (ms), 8 consumer
--   9  attempt, empty for none, 10 how long it is remembered (ms)
-- Returns {now, 1, token, deadline, died, expired, 1 if there are more, 1 if repeated, next due, messages as shown}.
-- include: queue_begin

local max, max_bytes, deadline = tonumber(ARGV[5]), tonumber(ARGV[6]), now
local given, died, expired = {}, 0, 0

-- repeated leases again what the first claim under this attempt gave, if all of it is still leased. It returns the token.
local function repeated()
  local ends = ARGV[9] ~= '' and redis.call('ZSCORE', key.known_ends, 'a' .. ARGV[9])
  if not ends or tonumber(ends) <= now then
    return nil
  end
  local first = cmsgpack.unpack(redis.call('HGET', key.known, 'a' .. ARGV[9])) -- token, sequences
  local list = {}
  for i = 2, #first do
    local m = record_of(first[i])
    if not m or m.state ~= LEASED or m.token ~= first[1] then
      return nil
    end
    list[#list + 1] = m
  end
  for _, m in ipairs(list) do
    leave(m)
    set_leased(m, deadline)
    given[#given + 1] = shown(m)
  end
  return first[1]
end

local function remember_attempt(token)
  local first = { token }
  for _, m in ipairs(given) do
    first[#first + 1] = m[1]
  end
  redis.call('HSET', key.known, 'a' .. ARGV[9], cmsgpack.pack(first))
  redis.call('ZADD', key.known_ends, now + tonumber(ARGV[10]), 'a' .. ARGV[9])
end

-- highest is the ready message with the highest level, raised by its age, then the oldest.
local function highest()
  local best, top, best_avail
  for level = settings.levels - 1, 0, -1 do
    local seq, avail = first_of(digits(level))
    if seq then
      local raised = level
      if settings.ages > 0 then
        local age = now - avail * TICK
        while raised < settings.levels - 1 do
          local steps = raised + 1 - level
          if age - steps * settings.ageing < steps * settings.ageing_ns / 1000000 then
            break
          end
          raised = raised + 1
        end
      end
      if not best or raised > top or raised == top and (avail < best_avail or avail == best_avail and seq < best) then
        best, top, best_avail = seq, raised, avail
      end
    end
  end
  return best
end

-- The group of a FIFO queue that goes on giving to this claim, although it is locked by it; with tail it gives what is
-- before limit, the first message that others hold.
local serving, limit

-- goes_on is the group being served, if it may give another message.
local function goes_on()
  local g = serving and find_group(serving)
  if
    not g
    or g.ready == 0
    or settings.group_in_flight > 0 and g.leased >= settings.group_in_flight
    or settings.group_limited > 0
      and allowed(g.ahead, g.ahead_ns, settings.group_interval, settings.group_interval_ns) > now
    or limit and first_of(digits(g.number)) > limit
  then
    return nil
  end
  return g
end

-- next_ready is the message to be given next.
local function next_ready()
  if full() or settings.limited > 0 and rate_allows() > now then
    return nil
  end
  if not has_lanes(settings) then
    return (eldest())
  end
  if not has_groups(settings) then
    return highest()
  end
  local g = goes_on()
  if not g then
    arrange_all()
    local member = redis.call('ZRANGE', key.servable, 0, 0)[1]
    if not member then
      return nil
    end
    local name = string.sub(member, 17)
    g = find_group(name)
    serving = settings.mode == FIFO and name or nil
    limit = settings.tail > 0 and blocker(g) or nil
  end
  return (first_of(digits(g.number)))
end

-- withdraw takes a message that is too late or used up out of the claim that met it; false if it may be delivered.
local function withdraw(m)
  local what = late(m)
  if what == 'gone' then
    erase(m, AGED)
    expired = expired + 1
  elseif what == 'lapsed' then
    lapse(m)
    died = died + 1
  elseif used_up(m) then
    leave(m)
    set_dead(m)
    died = died + 1
  else
    return false
  end
  return true
end

local function claim(token)
  local bytes = 0
  while #given < max and died + expired < SWEEP_LIMIT do
    local seq = next_ready()
    if not seq then
      return
    end
    local m = find(seq)
    if not withdraw(m) then
      if #given > 0 and bytes + m.size > max_bytes then
        return
      end
      bytes = bytes + m.size
      lease(m, token, deadline, ARGV[8])
      given[#given + 1] = shown(m)
    end
  end
end

local early = begin()
if early then
  return early
end
deadline = now + tonumber(ARGV[7])
local token = repeated()
local again = token ~= nil
if not again then
  token = counters.token + 1
  claim(token)
  if #given > 0 then
    counters.token = token
    if ARGV[9] ~= '' then
      remember_attempt(token)
    end
  end
end
local more = claimable()
pass(SWEEP_LIMIT + max) -- leases of no time have ended
local due = next_due()
if #given + died + expired > 0 then
  save()
end
local reply = { now, 1, token, deadline, died, expired, more and 1 or 0, again and 1 or 0, due }
for _, m in ipairs(given) do
  reply[#reply + 1] = m
end
return reply
