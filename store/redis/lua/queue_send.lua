#!lua
-- Appends messages.
-- KEYS: those of the queue. ARGV: as for every queue, then
--   5    1 to refuse all entries unless all are accepted or duplicates
--   6-9  idempotency key, empty for none; fingerprint; window in milliseconds; note
--   10…  for each entry: body, size, delay (ms), earliest time by the wall clock (ms), 1 if in order, group, priority, time to live (ms),
--        deduplication key (empty for none), 1 if it displaces
-- Returns {now, 1, commit (the first one, of a duplicate), first sequence, count, {entry from 1, how many gave way to it …},
-- sent at, 1 if a duplicate, next due, note, then verdict and sequence of
-- each entry unless all were accepted}.
-- include: queue_quick

-- quick appends messages that are ready at once, do not end, and of which nothing is remembered.
local function quick()
  local argv, n = ARGV, (#ARGV - 9) / 10
  if argv[6] ~= '' or n == 0 or n > 1000 or not open_plain() or settings.dedup_window then
    return nil
  end
  for i = 10, #argv, 10 do
    if tonumber(argv[i + 2]) > 0 or tonumber(argv[i + 3]) - clocks.ahead > now or tonumber(argv[i + 7]) > 0 then
      return nil
    end
  end
  local c, added, score, bytes = counters, {}, text(math.floor(now / TICK)), 0
  local first = c.next
  for k = 1, n do
    local i, seq = 10 * k, first + k - 1
    local size = tonumber(argv[i + 1])
    redis.call(
      'XADD', key.messages, text(seq) .. '-1', 'body', argv[i],
      'facts', LIST_OF_7 .. cmsgpack.pack(size, now, argv[i + 5], tonumber(argv[i + 6]), 0, '', '')
    )
    added[2 * k - 1], added[2 * k], bytes = score, string.format('%016d', seq), bytes + size
  end
  redis.call('ZADD', key.by_age, unpack(added))
  c.next, c.ready, c.bytes = first + n, c.ready + n, c.bytes + bytes
  save_plain()
  redis.call('SPUBLISH', key.news, 'q' .. ARGV[3])
  return { now, 1, c.commits, first, n, {}, now, 0, due_plain(), '' }
end

local at_once = quick()
if at_once then
  return at_once
end
-- include: queue_begin

local ACCEPTED, DUPLICATE, DROPPED, REFUSED = 1, 2, 3, 4
local DROP_NEWEST, DROP_OLDEST = 1, 2

local function pack_once(first, count, fates)
  commit()
  return cmsgpack.pack({ ARGV[7], first, count, now, ARGV[9], fates, counters.commits })
end

-- repeated is the answer to a send that was made before under the same key.
local function repeated()
  local ends = redis.call('ZSCORE', key.once_ends, ARGV[6])
  if not ends or tonumber(ends) <= now then
    return nil
  end
  local once = cmsgpack.unpack(redis.call('HGET', key.once, ARGV[6]))
  if once[1] ~= ARGV[7] then
    return redis.error_reply('REUSED idempotency key')
  end
  local reply = { now, 1, once[7] or 0, once[2], once[3], {}, once[4], 1, next_due(), once[5] }
  for _, v in ipairs(once[6]) do
    reply[#reply + 1] = v
  end
  return reply
end

-- read_entries reads the entries.
local function read_entries()
  local list = {}
  for i = 10, #ARGV, 10 do
    local due = clocks.later(now + tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]), ARGV[i + 4] == '1')
    local ttl = tonumber(ARGV[i + 7])
    list[#list + 1] = {
      body = ARGV[i], size = tonumber(ARGV[i + 1]), due = due, in_order = ARGV[i + 4] == '1', group = ARGV[i + 5],
      priority = tonumber(ARGV[i + 6]), expires = ttl > 0 and now + ttl or 0, dedup = ARGV[i + 8],
      displaces = ARGV[i + 9] == '1',
    }
  end
  return list
end

-- duplicate_of is the sequence of the message that was accepted with the same key.
local function duplicate_of(e)
  if e.dedup == '' or settings.dedup_window == 0 then
    return nil
  end
  local ends = redis.call('ZSCORE', key.known_ends, 'd' .. e.dedup)
  return ends and tonumber(ends) > now and tonumber(redis.call('HGET', key.known, 'd' .. e.dedup)) or nil
end

local function would_fit(messages, bytes)
  return (settings.max_messages == 0 or messages <= settings.max_messages)
    and (settings.max_bytes == 0 or bytes <= settings.max_bytes)
end

-- fits says whether there is room for an entry beside what is here and some more.
local function fits(e, messages, bytes)
  if settings.max_messages == 0 and settings.max_bytes == 0 then
    return true
  end
  local here = counters.ready + counters.delayed + counters.leased
  return would_fit(here + messages + 1, counters.bytes - counters.dead_bytes + bytes + e.size)
end

-- may_displace says whether an entry fits if all gives way but what is leased.
local function may_displace(e)
  return would_fit(counters.leased + 1, counters.leased_bytes + e.size)
end

local function displaces(e) return settings.overflow == DROP_OLDEST or e.displaces end

local gave_way = {} -- what to reply: for each entry that older messages gave way to, its number and how many

-- make_room says whether an entry is accepted, after making room for it if it must.
local function make_room(i, e)
  if fits(e, 0, 0) then
    return ACCEPTED
  end
  if not displaces(e) then
    return settings.overflow == DROP_NEWEST and DROPPED or REFUSED
  end
  if not may_displace(e) then
    return REFUSED
  end
  local n = 0
  while not fits(e, 0, 0) do
    local seq = eldest() or tonumber((clocks.first_delayed(key.delays, ask)))
    erase(find(seq), EVICTED)
    n = n + 1
  end
  gave_way[#gave_way + 1], gave_way[#gave_way + 2] = i, n
  return ACCEPTED
end

local function accept(e)
  local due = e.due
  if e.in_order and settings.mode == FIFO then
    local g = join(e.group)
    due = math.max(due, g.in_order)
    g.in_order = due
    note_group(e.group)
  end
  local seq = add(e.size, e.group, e.priority, e.expires, '', due, e.body, '')
  if e.dedup ~= '' and settings.dedup_window > 0 then
    redis.call('HSET', key.known, 'd' .. e.dedup, text(seq))
    redis.call('ZADD', key.known_ends, now + settings.dedup_window, 'd' .. e.dedup)
  end
  return seq
end

-- refuses says whether some entry would not be accepted.
local function refuses(list)
  local messages, bytes, seen = 0, 0, {}
  for _, e in ipairs(list) do
    if not (duplicate_of(e) or seen[e.dedup]) then
      local room = fits(e, messages, bytes)
      if displaces(e) then
        room = may_displace(e)
      end
      if not room then
        return true
      end
      if e.dedup ~= '' and settings.dedup_window > 0 then
        seen[e.dedup] = true
      end
      messages, bytes = messages + 1, bytes + e.size
    end
  end
  return false
end

local function send()
  local list, first, fates, odd, count = read_entries(), counters.next, {}, false, 0
  local refused = ARGV[5] == '1' and refuses(list)
  for i, e in ipairs(list) do
    local verdict, seq = DUPLICATE, duplicate_of(e)
    if not seq then
      verdict, seq = refused and REFUSED or make_room(i, e), 0
      if verdict == ACCEPTED then
        seq, count = accept(e), count + 1
      end
    end
    odd = odd or verdict ~= ACCEPTED
    fates[#fates + 1], fates[#fates + 2] = verdict, seq
  end
  if not odd then
    fates = {}
  end
  if ARGV[6] ~= '' and count > 0 then
    redis.call('HSET', key.once, ARGV[6], pack_once(first, count, fates))
    redis.call('ZADD', key.once_ends, now + tonumber(ARGV[8]), ARGV[6])
  end
  local due = next_due()
  if count > 0 then
    save()
    announce()
  end
  local reply = { now, 1, made(), first, count, gave_way, now, 0, due, '' }
  for _, v in ipairs(fates) do
    reply[#reply + 1] = v
  end
  return reply
end

local early = begin()
if early then
  return early
end
if settings.dedup_window > 0 then
  forget_ended(key.known, key.known_ends, 100)
end
if ARGV[6] ~= '' then
  forget_ended(key.once, key.once_ends, 100)
  local before = repeated()
  if before then
    return before
  end
end
return send()
