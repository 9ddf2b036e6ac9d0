#!lua flags=allow-oom
-- Removes all messages, and forgets deduplication keys and attempts.
-- KEYS: those of the queue. ARGV: as for every queue, with an empty revision.
-- Returns {now, 1, commit, how many, ids of moves}: if there are moves that have to be concluded first, nothing was done.
-- include: queue_begin
-- include: queue_moves

-- note_last remembers the last messages, as many as the settings say: those before them would be forgotten again.
local function note_last()
  local seqs, before = {}, '+'
  while #seqs < settings.history do
    local list = redis.call('XREVRANGE', key.messages, before, '-', 'COUNT', math.min(settings.history - #seqs, 16))
    if #list == 0 then
      break
    end
    for _, entry in ipairs(list) do
      seqs[#seqs + 1] = seq_of(entry)
    end
    before = '(' .. list[#list][1]
  end
  if #seqs < settings.history then
    for _, member in ipairs(redis.call('ZREVRANGE', key.kept, 0, settings.history - #seqs - 1)) do
      seqs[#seqs + 1] = tonumber(string.sub(member, 1, 16))
    end
  end
  for i = #seqs, 1, -1 do
    note_departure(find(seqs[i]), PURGED)
  end
end

local early = begin()
if early then
  return early
end
local under_way = moves_out(0)
if #under_way > 0 then
  return { now, 1, made(), 0, under_way }
end
local count = counters.ready + counters.leased + counters.delayed + counters.dead
if settings.history > 0 then
  note_last()
end
redis.call('UNLINK', key.messages, key.touched, key.visits, key.by_age, key.by_lane, key.leases, key.delays, key.expiring,
  key.dead, key.groups, key.names, key.servable, key.spent, key.known, key.known_ends, key.moved_in, key.order,
  key.kept)
groups, unarranged, unsaved, gathered = {}, {}, {}, {}
counters.ready, counters.leased, counters.delayed, counters.dead, counters.expiring = 0, 0, 0, 0, 0
counters.bytes, counters.leased_bytes, counters.dead_bytes, counters.kept = 0, 0, 0, 0
ends_changed = true
local free = frees(false)
save()
if free then
  announce()
end
return { now, 1, made(), count, {} }
