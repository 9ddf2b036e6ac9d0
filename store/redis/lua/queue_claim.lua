#!lua flags=allow-oom
-- Leases ready messages in the order of the queue.
-- KEYS: those of the queue. ARGV: as for every queue, then
--   5  attempt, empty for none, 6 how long it is remembered (ms)
--   7… for each claim, one after the other (with an attempt there is one): how many at most, bound of the sum of their sizes,
--      how long the lease lasts (ms), consumer
-- Returns {now, 1, commit, next due, then for each claim {token, deadline, died, expired, 1 if there are more, 1 if repeated,
-- messages as shown}}. Claims may be left out at the end, not the first, when those before were much work: they were not made.
-- include: queue_begin

local MUCH = 1048576 -- bytes of messages after which no other claim is made

local max, max_bytes, deadline, consumer, given, died, expired -- of the claim that is made
local wanted = 0 -- what it and those after it want

-- repeated leases again what the first claim under this attempt gave, if all of it is still leased and none was extended,
-- since then its answer has arrived. It returns the token.
local function repeated()
  local ends = ARGV[5] ~= '' and redis.call('ZSCORE', key.known_ends, 'a' .. ARGV[5])
  if not ends or tonumber(ends) <= now then
    return nil
  end
  local first = cmsgpack.unpack(redis.call('HGET', key.known, 'a' .. ARGV[5])) -- token, sequences
  local token, list = table.remove(first, 1), {}
  load(first)
  for i, seq in ipairs(first) do
    local m = find(seq)
    if not m or m.state ~= LEASED or m.token ~= token or m.extended > 0 then
      return nil
    end
    list[i] = m
  end
  load_entries(first)
  for _, m in ipairs(list) do
    leave(m)
    set_leased(m, deadline)
    given[#given + 1] = shown(m)
  end
  return token
end

local function remember_attempt(token)
  local first = { token }
  for _, m in ipairs(given) do
    first[#first + 1] = m[1]
  end
  redis.call('HSET', key.known, 'a' .. ARGV[5], cmsgpack.pack(first))
  redis.call('ZADD', key.known_ends, now + tonumber(ARGV[6]), 'a' .. ARGV[5])
end

local PART = 64 -- how much of a line is read at once, at most
local lines = {} -- by lane, or '': what is ready in it as it was when read, next first. During the claims nothing joins it.

-- Most queues are plain, and most of their messages fresh. These are leased without making a table of each: what is to be
-- written of them is gathered as the arguments of four commands. It comes to the same as lease.
local plain -- the queue has no lanes, and no limit but that of its receives
local left, leased, ordered, written, leased_n = {}, {}, {}, {}, 0

-- write_leased writes what was gathered.
local function write_leased()
  if leased_n > 0 then
    in_parts(left, function(...) redis.call('ZREM', key.by_age, ...) end)
    in_parts(leased, function(...) redis.call('ZADD', key.leases, ...) end)
    in_parts(ordered, function(...) redis.call('ZADD', key.order, ...) end)
    in_parts(written, function(...) redis.call('HSET', key.touched, ...) end)
    left, leased, ordered, written, leased_n = {}, {}, {}, {}, 0
    ends_changed = true
  end
end

-- read_line reads the next part of the line of a lane, or of the whole queue.
local function read_line(lane)
  write_leased()
  local n, list = math.min(PART, wanted - #given), nil
  if lane == '' then
    list = counters.ready > 0 and ask('ZRANGE', key.by_age, 0, n - 1) or {}
  else
    if settings.has_groups and settings.mode ~= FIFO then
      n = 1 -- then it is another group's turn
    end
    list = ask('ZRANGEBYLEX', key.by_lane, '[' .. lane, '[' .. lane .. '\255', 'LIMIT', 0, n)
  end
  local before = lines[lane]
  local line = { at = 1, whole = #list < n, loaded = 0, part = before and before.part or 4 }
  for i, member in ipairs(list) do
    line[i] = seq_in(member)
  end
  if lane == '' then
    line.ids = list
  end
  lines[lane] = line
  return line
end

-- head is the line of a lane, and what is next in it; nil if it is empty.
local function head(lane)
  local line = lines[lane]
  if not line or not line[line.at] and not line.whole then
    line = read_line(lane)
  end
  return line, line[line.at]
end

-- load_line reads the next messages of a line when the first of them is needed: few in the beginning, for they may be large.
local function load_line(line)
  if line.at > line.loaded then
    local part = {}
    for i = line.at, math.min(line.at + line.part - 1, #line) do
      part[#part + 1] = line[i]
    end
    load_entries(part)
    if plain then
      line.records = redis.call('HMGET', key.touched, unpack(line.ids, line.at, line.at + #part - 1))
      line.first = line.at
    else
      load(part)
    end
    line.loaded, line.part = line.at + #part - 1, math.min(2 * line.part, PART)
  end
end

local REST = cmsgpack.pack(0, 0) -- was and extended
local last_due, last_text

-- lease_fresh leases the next message of a plain queue, if it is fresh, has no end and room for it is left. It returns its
-- size and what is shown of it.
local function lease_fresh(line, seq, token, due, room)
  local entry, record = entries[seq], line.records[line.at - line.first + 1]
  if record and messages[seq] == nil then
    messages[seq] = unpack_touched(seq, record)
  end
  if messages[seq] ~= nil or not entry then
    return nil
  end
  local size, sent, group, priority, expires, from, origin = cmsgpack.unpack(string.sub(entry[2][4], #LIST_OF_7 + 1))
  local avail = tick(sent)
  if expires > 0 or size > room then
    return nil
  end
  if settings.retains > 0 then
    local ends = expiry(avail)
    if ends <= now then
      return nil
    end
    due = math.min(due, ends)
  end
  local id, n = line.ids[line.at], leased_n
  leased_n = n + 1
  left[n + 1] = id
  if due ~= last_due then
    last_due, last_text = due, text(due)
  end
  leased[2 * n + 1], leased[2 * n + 2] = last_text, id
  ordered[2 * n + 1], ordered[2 * n + 2] = id, id -- the sequence as a score, too
  written[2 * n + 1] = id
  written[2 * n + 2] = LIST_OF_16
    .. cmsgpack.pack(LEASED, due, now, token, avail, 1, consumer, '', 0, size, group, priority, expires, from)
    .. REST
  counters.ready, counters.leased = counters.ready - 1, counters.leased + 1
  counters.leased_bytes = counters.leased_bytes + size
  return size, { seq, entry[2][2], size, sent, 1, avail, group, priority, expires, from, origin }
end

-- raised_level is the level of a message with what it gained by waiting.
local function raised_level(level, avail)
  if settings.ages == 0 then
    return level
  end
  local age, steps = now - avail * TICK, 0
  while
    level + steps < settings.levels - 1
    and age - (steps + 1) * settings.ageing >= (steps + 1) * settings.ageing_ns / 1000000
  do
    steps = steps + 1
  end
  return level + steps
end

-- highest is the line whose next message has the highest level, raised by its age, then is the oldest.
local function highest()
  local best, best_seq, top, best_avail
  for level = settings.levels - 1, 0, -1 do
    local line, seq = head(digits(level))
    if seq then
      load_line(line)
      local avail = find(seq).avail
      local raised = raised_level(level, avail)
      if
        not best
        or raised > top
        or raised == top and (avail < best_avail or avail == best_avail and seq < best_seq)
      then
        best, best_seq, top, best_avail = line, seq, raised, avail
      end
    end
  end
  return best, best_seq
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
  then
    return nil
  end
  local _, seq = head(digits(g.number))
  if limit and seq > limit then
    return nil
  end
  return g
end

-- next_group is the group whose turn it is.
local function next_group()
  arrange_all()
  local member = ask('ZRANGE', key.servable, 0, 0)[1]
  if not member then
    return nil
  end
  local name = string.sub(member, 17)
  local g = find_group(name)
  serving = settings.mode == FIFO and name or nil
  limit = settings.tail > 0 and blocker(g) or nil
  return g
end

-- next_ready is the line that gives the next message, and that.
local function next_ready()
  if full() or settings.limited > 0 and rate_allows() > now then
    return nil
  end
  if not settings.has_lanes then
    return head('')
  end
  if not settings.has_groups then
    return highest()
  end
  local g = goes_on() or next_group()
  if g then
    return head(digits(g.number))
  end
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

-- take gives messages to the claim that is made. It returns the sum of their sizes.
local function take(token)
  local bytes = 0
  while #given < max and died + expired < SWEEP_LIMIT do
    local line, seq = next_ready()
    if not seq then
      break
    end
    load_line(line)
    local size, seen
    if plain then
      size, seen = lease_fresh(line, seq, token, deadline, #given > 0 and max_bytes - bytes or math.huge)
    end
    if size then
      line.at, bytes, given[#given + 1] = line.at + 1, bytes + size, seen
    else
      local m = find(seq)
      local withdrawn = withdraw(m)
      if not withdrawn and #given > 0 and bytes + m.size > max_bytes then
        break
      end
      line.at = line.at + 1
      if not withdrawn then
        bytes = bytes + m.size
        lease(m, token, deadline, consumer)
        given[#given + 1] = shown(m)
      end
    end
  end
  write_leased()
  return bytes
end

-- claim makes one claim, of which the arguments begin there. It returns what to reply to it, and how many bytes it gave.
local function claim(i)
  max, max_bytes, deadline, consumer = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), now + tonumber(ARGV[i + 2]), ARGV[i + 3]
  given, died, expired, serving, limit = {}, 0, 0, nil, nil
  local token, bytes = repeated(), 0
  local again = token ~= nil
  if not again then
    token = counters.token + 1
    bytes = take(token)
    if #given > 0 then
      counters.token = token
      if ARGV[5] ~= '' then
        remember_attempt(token)
      end
    end
  end
  local reply = { token, deadline, died, expired, claimable() and 1 or 0, again and 1 or 0 }
  for _, m in ipairs(given) do
    reply[#reply + 1] = m
  end
  return reply, bytes
end

local early = begin()
if early then
  return early
end
plain = not (settings.has_lanes or settings.limited > 0 or settings.max_in_flight > 0)
if ARGV[5] ~= '' then
  forget_ended(key.known, key.known_ends, 100)
end
for i = 7, #ARGV, 4 do
  wanted = wanted + tonumber(ARGV[i])
end
local replies, total, withdrawn, changed = {}, 0, 0, 0
for i = 7, #ARGV, 4 do
  local reply, bytes = claim(i)
  replies[#replies + 1] = reply
  wanted, total, withdrawn = wanted - max, total + bytes, withdrawn + died + expired
  changed = changed + #given + died + expired
  if total >= MUCH or withdrawn >= SWEEP_LIMIT then
    break
  end
end
pass(SWEEP_LIMIT + changed) -- leases of no time have ended
local due = next_due()
if changed > 0 then
  save()
end
local reply = { now, 1, made(), due }
for _, r in ipairs(replies) do
  reply[#reply + 1] = r
end
return reply
