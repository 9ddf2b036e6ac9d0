#!lua flags=allow-oom
-- Leases ready messages in the order of the queue.
-- KEYS: those of the queue. ARGV: as for every queue, then
--   5  attempt, empty for none, 6 how long it is remembered (ms); negative if one that is spent is not to be a new claim
--   7… for each claim, one after the other (with an attempt there is one): how many at most, bound of the sum of their sizes,
--      how long the lease lasts (ms), consumer
-- Returns {now, 1, commit, next due, then for each claim {token, deadline, died, expired, 1 if there are more, 1 if repeated or 2 if spent,
-- of each message the values of shown}}. Claims may be left out at the end, not the first, when those before were much work:
-- they were not made.
-- include: queue_quick

local MUCH = 1048576 -- bytes of messages after which no other claim is made
local QUICK, AHEAD = 128, 16 -- how many messages quick leases at most, and how many of them it reads at once

-- run_at reads what is stored of the next ids, as far as their sequences follow one another, and returns it with the first
-- sequence. It is false if some are not in the stream.
local function run_at(ids, at)
  local first = tonumber(ids[at])
  local last = first
  for i = at + 1, math.min(at + AHEAD - 1, #ids) do
    if tonumber(ids[i]) ~= last + 1 then
      break
    end
    last = last + 1
  end
  local list = redis.call('XRANGE', key.messages, text(first), text(last))
  return #list == last - first + 1 and list, first
end

-- quick leases messages that are all fresh.
local function quick()
  local argv, wanted = ARGV, 0
  for i = 7, #argv, 4 do
    wanted = wanted + tonumber(argv[i])
    if tonumber(argv[i + 2]) < 1 then
      return nil
    end
  end
  if argv[5] ~= '' or wanted > QUICK or not open_plain() then
    return nil
  end
  local c, ids = counters, {}
  if c.ready > 0 and wanted > 0 then
    if redis.call('HLEN', key.touched) ~= c.leased + c.delayed + c.dead then
      return nil -- some have a record
    end
    ids = redis.call('ZRANGE', key.by_age, 0, wanted - 1)
    if not ids[1] then
      return nil -- the index is lost
    end
  end
  local replies = { now, 1, 0, 0 }
  local leased, order, records, taken, total = {}, {}, {}, 0, 0
  local part, part_from, first = {}, 0, 0 -- entries that were read, how many ids are before them, and their first sequence
  for i = 7, #argv, 4 do
    local max, max_bytes, deadline, consumer = tonumber(argv[i]), tonumber(argv[i + 1]), now + tonumber(argv[i + 2]), argv[i + 3]
    local token, bytes, n, to = c.token + 1, 0, 0, 6
    local reply = { token, deadline, 0, 0, 0, 0 }
    local begun, beginning, ends -- how records of messages begin that became available then
    while n < max and ids[taken + 1] do
      local at = taken + 1
      if at > part_from + #part then
        part, first = run_at(ids, at)
        if not part then
          return nil
        end
        part_from = taken
      end
      local fields = part[at - part_from][2]
      local size, sent, group, priority, expires, from = cmsgpack.unpack(string.sub(fields[4], 2))
      local avail = math.floor(sent / TICK)
      if n > 0 and bytes + size > max_bytes then
        break
      end
      if avail ~= begun then
        local due = retention and math.min(deadline, expiry(avail)) or deadline
        if due <= now then
          return nil
        end
        begun, ends = avail, text(due)
        beginning = LIST_OF_16 .. cmsgpack.pack(LEASED, due, now, token, avail, 1, consumer, '', 0)
      end
      local id = ids[at]
      leased[2 * at - 1], leased[2 * at] = ends, id
      order[2 * at - 1], order[2 * at] = id, id -- the sequence as a score, too
      records[2 * at - 1] = id
      records[2 * at] = beginning .. cmsgpack.pack(size, group, priority, expires, from, 0, 0)
      reply[to + 1], reply[to + 2], reply[to + 3] = first + at - part_from - 1, 1, avail
      reply[to + 4], reply[to + 5] = fields[2], fields[4]
      taken, n, to, bytes = at, n + 1, to + 5, bytes + size
    end
    if n > 0 then
      c.token = token
    end
    reply[5] = c.ready > taken and 1 or 0
    replies[#replies + 1], total = reply, total + bytes
    if total >= MUCH then
      break
    end
  end
  if taken > 0 then
    redis.call('ZREM', key.by_age, unpack(ids, 1, taken))
    redis.call('ZADD', key.leases, unpack(leased))
    redis.call('ZADD', key.order, unpack(order))
    redis.call('HSET', key.touched, unpack(records))
    c.ready, c.leased, c.leased_bytes = c.ready - taken, c.leased + taken, c.leased_bytes + total
    save_plain()
    replies[3] = c.commits
  end
  replies[4] = due_plain()
  return replies
end

local at_once = quick()
if at_once then
  return at_once
end
-- include: queue_begin

local max, max_bytes, deadline, consumer, given_n, died, expired -- of the claim that is made
local reply -- to it: six values, then those of each message
local wanted = 0 -- what it and those after it want

local function give(m)
  local at = 6 + 5 * given_n
  reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4], reply[at + 5] = unpack(shown(m))
  given_n = given_n + 1
end

-- repeated leases again what the first claim under this attempt gave, if all of it is still leased and none was extended,
-- since then its answer has arrived. It returns the token, or nil and whether it is spent: one has left the queue or was
-- extended.
local function repeated()
  local ends = ARGV[5] ~= '' and redis.call('ZSCORE', key.known_ends, 'a' .. ARGV[5])
  if not ends or tonumber(ends) <= now then
    return nil
  end
  local first = cmsgpack.unpack(redis.call('HGET', key.known, 'a' .. ARGV[5])) -- token, sequences
  local token, list, held, spent = table.remove(first, 1), {}, true, false
  load(first)
  for i, seq in ipairs(first) do
    local m = find(seq)
    local own = m and m.token == token
    spent = spent or not m or own and m.extended > 0
    held = held and own and m.state == LEASED and m.extended == 0
    list[i] = m
  end
  if not held then
    return nil, spent
  end
  load_entries(first)
  for _, m in ipairs(list) do
    leave(m)
    set_leased(m, deadline)
    give(m)
  end
  return token
end

local function remember_attempt(token)
  local first = { token }
  for i = 7, #reply, 5 do
    first[#first + 1] = reply[i]
  end
  redis.call('HSET', key.known, 'a' .. ARGV[5], cmsgpack.pack(first))
  redis.call('ZADD', key.known_ends, now + math.abs(tonumber(ARGV[6])), 'a' .. ARGV[5])
end

local PART = 64 -- how much of a line is read at once, at most
local lines = {} -- by lane, or '': what is ready in it as it was when read, next first. During the claims nothing joins it.

-- Most queues are plain, and most of their messages fresh. These are leased without making a table of each: what is to be
-- written of them is gathered as the arguments of four commands. It comes to the same as lease.
local plain -- the queue has no lanes, and no limit but that of its receives
local all_fresh -- no message that was ready when the call began has a record
local left, leased, ordered, written, leased_n, leased_bytes = {}, {}, {}, {}, 0, 0

-- write_leased writes what was gathered.
local function write_leased()
  if leased_n > 0 then
    in_parts(left, function(...) redis.call('ZREM', key.by_age, ...) end)
    in_parts(leased, function(...) redis.call('ZADD', key.leases, ...) end)
    in_parts(ordered, function(...) redis.call('ZADD', key.order, ...) end)
    in_parts(written, function(...) redis.call('HSET', key.touched, ...) end)
    counters.ready, counters.leased = counters.ready - leased_n, counters.leased + leased_n
    counters.leased_bytes = counters.leased_bytes + leased_bytes
    left, leased, ordered, written, leased_n, leased_bytes = {}, {}, {}, {}, 0, 0
    ends_changed = true
  end
end

-- read_line reads the next part of the line of a lane, or of the whole queue.
local function read_line(lane)
  write_leased()
  local n, list = math.min(PART, wanted - given_n), nil
  local before = lines[lane]
  local line = { at = 1, loaded = 0, part = before and before.part or 4 }
  if lane == '' then
    list = counters.ready > 0 and ask('ZRANGE', key.by_age, 0, n - 1) or {}
    if counters.ready > 0 and n > 0 and #list == 0 then
      lost('ready')
    end
    line.ids = list
    for i, id in ipairs(list) do
      line[i] = tonumber(id)
    end
  else
    if settings.has_groups and settings.mode ~= FIFO then
      n = 1 -- then it is another group's turn
    end
    list = ask('ZRANGEBYLEX', key.by_lane, '[' .. lane, '[' .. lane .. '\255', 'LIMIT', 0, n)
    for i, member in ipairs(list) do
      line[i] = seq_in(member)
    end
  end
  line.whole = #list < n
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
    if plain and all_fresh then
      line.first = line.at
    elseif plain then
      line.records = redis.call('HMGET', key.touched, unpack(line.ids, line.at, line.at + #part - 1))
      line.first = line.at
    else
      load(part)
    end
    line.loaded, line.part = line.at + #part - 1, math.min(2 * line.part, PART)
  end
end

local begun_avail, beginning, lease_ends -- how records of messages that this claim leases begin, by when they became available

-- begin_records sees to it that beginning and lease_ends are those of messages that became available then. It is false if
-- these are past their retention.
local function begin_records(avail, token)
  if avail == begun_avail then
    return true
  end
  local due = deadline
  if settings.retains > 0 then
    local ends = expiry(avail)
    if ends <= now then
      return false
    end
    due = math.min(due, ends)
  end
  begun_avail, lease_ends = avail, text(due)
  beginning = LIST_OF_16 .. cmsgpack.pack(LEASED, due, now, token, avail, 1, consumer, '', 0)
  return true
end

-- lease_fresh leases the next messages of a plain queue, as many as were read, are fresh, have no end and fit. It returns how
-- many bytes the claim has then, nil if it leased none.
local function lease_fresh(line, token, bytes)
  local records, at, n, leased_before = line.records, line.at, leased_n, leased_n
  while at <= line.loaded and given_n < max do
    local seq, id = line[at], line.ids[at]
    local entry, record = entries[seq], records and records[at - line.first + 1]
    if record and messages[seq] == nil then
      messages[seq] = unpack_touched(seq, record)
    end
    if messages[seq] ~= nil or not entry then
      break
    end
    local fields = entry[2]
    local size, sent, group, priority, expires, from = cmsgpack.unpack(string.sub(fields[4], #LIST_OF_7 + 1))
    local avail, to = tick(sent), 6 + 5 * given_n
    if expires > 0 or given_n > 0 and bytes + size > max_bytes or not begin_records(avail, token) then
      break
    end
    left[n + 1] = id
    leased[2 * n + 1], leased[2 * n + 2] = lease_ends, id
    ordered[2 * n + 1], ordered[2 * n + 2] = id, id -- the sequence as a score, too
    written[2 * n + 1], written[2 * n + 2] = id, beginning .. cmsgpack.pack(size, group, priority, expires, from, 0, 0)
    reply[to + 1], reply[to + 2], reply[to + 3], reply[to + 4], reply[to + 5] = seq, 1, avail, fields[2], fields[4]
    at, n, given_n, bytes, leased_bytes = at + 1, n + 1, given_n + 1, bytes + size, leased_bytes + size
  end
  line.at, leased_n = at, n
  return n > leased_before and bytes or nil
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
  while given_n < max and died + expired < SWEEP_LIMIT do
    local line, seq = next_ready()
    if not seq then
      break
    end
    load_line(line)
    local fresh_bytes = plain and lease_fresh(line, token, bytes)
    if fresh_bytes then
      bytes = fresh_bytes
    else
      local m = find(seq)
      local withdrawn = withdraw(m)
      if not withdrawn and given_n > 0 and bytes + m.size > max_bytes then
        break
      end
      line.at = line.at + 1
      if not withdrawn then
        bytes = bytes + m.size
        lease(m, token, deadline, consumer)
        give(m)
      end
    end
  end
  write_leased()
  return bytes
end

-- claim makes one claim, of which the arguments begin there. It returns how many bytes it gave.
local function claim(i)
  max, max_bytes, deadline, consumer = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), now + tonumber(ARGV[i + 2]), ARGV[i + 3]
  reply, given_n, died, expired, serving, limit, begun_avail = { 0, 0, 0, 0, 0, 0 }, 0, 0, 0, nil, nil, nil
  local token, spent = repeated()
  local again, bytes = token ~= nil, 0
  spent = spent and tonumber(ARGV[6]) < 0
  if spent then
    token = 0
  elseif not again then
    token = counters.token + 1
    bytes = take(token)
    if given_n > 0 then
      counters.token = token
      if ARGV[5] ~= '' then
        remember_attempt(token)
      end
    end
  end
  reply[1], reply[2], reply[3], reply[4] = token, deadline, died, expired
  reply[5], reply[6] = claimable() and 1 or 0, spent and 2 or again and 1 or 0
  return bytes
end

local early = begin()
if early then
  return early
end
plain = not (settings.has_lanes or settings.limited > 0 or settings.max_in_flight > 0)
all_fresh = plain and redis.call('HLEN', key.touched) == counters.leased + counters.delayed + counters.dead
if ARGV[5] ~= '' then
  forget_ended(key.known, key.known_ends, 100)
end
for i = 7, #ARGV, 4 do
  wanted = wanted + tonumber(ARGV[i])
end
local replies, total, withdrawn, changed = {}, 0, 0, 0
for i = 7, #ARGV, 4 do
  total = total + claim(i)
  replies[#replies + 1] = reply
  wanted, withdrawn, changed = wanted - max, withdrawn + died + expired, changed + given_n + died + expired
  if total >= MUCH or withdrawn >= SWEEP_LIMIT then
    break
  end
end
pass(SWEEP_LIMIT + changed) -- leases of no time have ended
local due = next_due()
if changed > 0 then
  save()
end
return { now, 1, made(), due, unpack(replies) }
