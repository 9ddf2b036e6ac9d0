-- Chunk: moves under way, as the two queues note them. A move's id is "<source generation>:<number>".
-- include: queue_message

local MOVE_TIME = 30000 -- milliseconds for which a target that does not know a move may begin to insert it

-- The target notes, until when that is, the ids of moves that it inserted, and those that it refuses: with this before them.
local REFUSED = 'x'

-- A move must be noted before it begins, and not long before: then it is not overlooked.
local function noted_lately(noted) return elapsed <= tonumber(noted) + MOVE_TIME end

local function latest_insert(begun) return begun + MOVE_TIME end

-- save_intent saves what changed and stores what the source knows of a move, under a new id: target, when begun, label, 1 if the
-- messages are new in the target, 1 if the content is replaced, by what size and body, and sequences. The intent comes last:
-- should it be missing, the messages are again what they were (queue_repair.lua), and no other move gets the id.
local function save_intent(intent)
  counters.moves = counters.moves + 1
  save()
  local id = ARGV[3] .. ':' .. text(counters.moves)
  redis.call('HSET', key.moves, id, cmsgpack.pack({
    intent.target, now, intent.label, intent.renewed, intent.replaced, intent.size, intent.body, intent.seqs,
  }))
  return id
end

local function find_intent(id)
  local packed = redis.call('HGET', key.moves, id)
  if packed then
    local f = cmsgpack.unpack(packed)
    return {
      target = f[1], begun = f[2], label = f[3], renewed = f[4], replaced = f[5], size = f[6], body = f[7], seqs = f[8],
    }
  end
end

-- each_moving calls f with the messages of an intent.
local function each_moving(intent, f)
  for _, seq in ipairs(intent.seqs) do
    local m = record_of(seq)
    if m and m.state == MOVING then
      f(m)
    end
  end
end

-- show_intent says what the target needs: target, until when it may be inserted, label, 1 if renewed, 1 if replaced, size
-- and body, messages. Of each what a receiver would see, then why it was last given back and 1 if it was dead.
local function show_intent(intent)
  local list = {}
  each_moving(intent, function(m)
    local v = shown(m)
    v[#v + 1], v[#v + 2] = m.reason, m.was == DEAD and 1 or 0
    list[#list + 1] = v
  end)
  return { intent.target, latest_insert(intent.begun), intent.label, intent.renewed, intent.replaced, intent.size, intent.body, list }
end

-- moves_out lists ids of moves that go out and began no later than some milliseconds ago.
local function moves_out(patience)
  local ids = {}
  for _, id in ipairs(redis.call('HKEYS', key.moves)) do
    if find_intent(id).begun + patience <= now then
      ids[#ids + 1] = id
    end
  end
  return ids
end

-- moving_out counts the messages of the moves that are not concluded.
local function moving_out()
  local n = 0
  for _, packed in ipairs(redis.call('HVALS', key.moves)) do
    n = n + #cmsgpack.unpack(packed)[8]
  end
  return n
end

-- note_moved_away adds a sequence to the spans of those that were moved away.
local function note_moved_away(seq)
  local first, last = seq, seq
  local before = redis.call('ZRANGEBYSCORE', key.moved_away, seq - 1, seq - 1)[1]
  if before then
    first = tonumber(before)
  end
  local next_last = redis.call('ZSCORE', key.moved_away, digits(seq + 1))
  if next_last then
    last = tonumber(next_last)
    redis.call('ZREM', key.moved_away, digits(seq + 1))
  end
  redis.call('ZADD', key.moved_away, last, digits(first))
end
