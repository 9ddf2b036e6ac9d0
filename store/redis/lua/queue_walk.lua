-- Chunk: all messages of a queue in the order of their sequences.
-- include: queue_message

local WALK_BYTES = 4194304 -- of what is looked at in one call, about

-- walk calls f with the messages from a sequence on, in any state, until f returns true or it has looked at limit messages,
-- or at very large ones. It returns where to go on, or 0.
local function walk(from, limit, f)
  local looked, bytes, part = 0, 0, 16
  while true do
    local list = read_kept({}, from, '+inf', part + 1)
    if #list <= part then
      for _, entry in ipairs(redis.call('XRANGE', key.messages, text(from), '+', 'COUNT', part + 1 - #list)) do
        list[#list + 1] = entry
      end
    end
    if #list == 0 then
      return 0
    end
    local seqs = {}
    for i, entry in ipairs(list) do
      seqs[i] = seq_of(entry)
      entries[seqs[i]] = entry
    end
    load(seqs)
    for i = 1, math.min(#list, part) do
      if looked >= limit or bytes > WALK_BYTES then
        return seqs[i]
      end
      looked, bytes = looked + 1, bytes + #list[i][2][2]
      if f(messages[seqs[i]]) then
        return seqs[i + 1] or 0
      end
    end
    if #list <= part then
      return 0
    end
    from = seqs[part + 1]
    if bytes < 65536 then
      part = 128
    end
  end
end
