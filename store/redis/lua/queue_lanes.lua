-- Chunk: the lanes of a queue in which more than age decides: one for each group, or one for each level.
-- include: queue

local DELAYED, LEASED, READY, DEAD, BACKOFF, MOVING = 1, 2, 3, 4, 5, 6

local groups = {} -- by name, those that this call looked at; false if there is none
local unarranged, unsaved = {}, {} -- names of those that changed

local LIST_OF_13 = '\157' -- goes before so many packed values, as a list of them has it

local function pack_group(g)
  return LIST_OF_13
    .. cmsgpack.pack(
      g.number, g.ready, g.leased, g.delayed, g.dead, g.backoff, g.turn, g.ahead, g.ahead_ns, g.in_order,
      g.place, g.score, g.waits
    )
end

local function unpack_group(packed)
  local f = cmsgpack.unpack(packed)
  return {
    number = f[1], -- of its lane
    ready = f[2], leased = f[3], delayed = f[4], dead = f[5],
    backoff = f[6], -- how many of the delayed were given back: in a FIFO queue they lock the group
    turn = f[7], -- when it was served last
    ahead = f[8], ahead_ns = f[9], -- what its rate counts
    in_order = f[10], -- the latest due time of messages sent in order
    place = f[11], score = f[12], -- its turn and score among those that may be served; place 0 when it is not there
    waits = f[13], -- until when it waits for its rate; 0 when it does not
  }
end

local function find_group(name)
  local g = groups[name]
  if g == nil then
    local packed = redis.call('HGET', key.groups, name)
    g = packed and unpack_group(packed)
    groups[name] = g
  end
  return g
end

local function note_group(name) unarranged[name], unsaved[name] = true, true end

-- join makes sure that there is a group for a message.
local function join(name)
  local g = find_group(name)
  if not g then
    counters.turns = counters.turns + 1
    g = {
      number = counters.turns, ready = 0, leased = 0, delayed = 0, dead = 0, backoff = 0, turn = counters.turns,
      ahead = 0, ahead_ns = 0, in_order = 0, place = 0, score = 0, waits = 0,
    }
    groups[name] = g
    put(key.names, 0, name)
    note_group(name)
  end
  return g
end

local function servable_member(turn, name) return digits(turn) .. name end

-- quit forgets a group without messages.
local function quit(name)
  local g = find_group(name)
  if not g or g.ready + g.leased + g.delayed + g.dead > 0 then
    return
  end
  if g.place ~= 0 then
    drop(key.servable, servable_member(g.place, name))
  end
  if g.waits ~= 0 then
    drop(key.spent, name)
  end
  drop(key.names, name)
  groups[name], unarranged[name], unsaved[name] = false, nil, true
end

local LOCKS = 'L' -- goes before the lane where it is listed what locks a FIFO group

-- first_in is the first member of a lane.
local function first_in(lane)
  return ask('ZRANGEBYLEX', key.by_lane, '[' .. lane, '[' .. lane .. '\255', 'LIMIT', 0, 1)[1]
end

local function seq_in(member) return tonumber(string.sub(member, -16)) end

-- first_of is the sequence of the message that a group gives next; nil when none is ready.
local function first_of(g)
  local member = first_in(digits(g.number))
  return member and seq_in(member)
end

-- blocker is the sequence of the first message that locks a FIFO group: that is leased or backs off.
local function blocker(g)
  local member = first_in(LOCKS .. digits(g.number))
  return member and seq_in(member)
end

-- A FIFO group waits for those of its messages that are leased or back off; with tail only if none is ready before them.
local function locked(g)
  if settings.mode ~= FIFO or g.leased + g.backoff == 0 then
    return false
  end
  return settings.tail == 0 or g.ready == 0 or first_of(g) > blocker(g)
end

-- arrange puts a group in or out of those that may be served.
local function arrange(name)
  local g = find_group(name)
  local may = g.ready > 0 and not locked(g) and (settings.group_in_flight == 0 or g.leased < settings.group_in_flight)
  local waits = 0
  if may and settings.group_limited > 0 then
    local at = allowed(g.ahead, g.ahead_ns, settings.group_interval, settings.group_interval_ns)
    if at > now then
      may, waits = false, at
    end
  end
  if g.place ~= 0 and not (may and g.place == g.turn) then
    drop(key.servable, servable_member(g.place, name))
    g.place = 0
  end
  local score = settings.mode == FIFO and 0 or g.leased
  if may and (g.place == 0 or g.score ~= score) then
    put(key.servable, score, servable_member(g.turn, name))
    g.place, g.score = g.turn, score
  end
  if waits > 0 and waits ~= g.waits then
    put(key.spent, waits, name)
  elseif waits == 0 and g.waits ~= 0 then
    drop(key.spent, name)
  end
  g.waits = waits
  unsaved[name] = true
end

local function arrange_all()
  for name in pairs(unarranged) do
    arrange(name)
  end
  unarranged = {}
end

local function save_groups()
  arrange_all()
  local changes = {}
  for name in pairs(unsaved) do
    if groups[name] then
      changes[#changes + 1], changes[#changes + 2] = name, pack_group(groups[name])
    else
      redis.call('HDEL', key.groups, name)
    end
  end
  in_parts(changes, function(...) redis.call('HSET', key.groups, ...) end)
  unsaved = {}
end

-- tally counts a message in (by 1) or out of (by -1) a state of its group.
local function tally(m, by)
  if not settings.has_groups then
    return
  end
  local g = join(m.group)
  if m.state == READY then
    g.ready = g.ready + by
  elseif m.state == LEASED then
    g.leased = g.leased + by
  elseif m.state == DEAD then
    g.dead = g.dead + by
  elseif m.state == DELAYED then
    g.delayed = g.delayed + by
  elseif m.state == BACKOFF then
    g.delayed, g.backoff = g.delayed + by, g.backoff + by
  end
  note_group(m.group)
end

-- lane_of is the lane of a message.
local function lane_of(m)
  if settings.has_groups then
    return digits(join(m.group).number)
  end
  return digits(math.min(m.priority, settings.levels - 1))
end

-- lane_member is how a message is listed in its lane; nil if it is not: ready messages are, and what locks a FIFO group.
local function lane_member(m)
  if m.state == READY and settings.has_lanes then
    return lane_of(m) .. digits(settings.mode == FIFO and 0 or m.avail) .. digits(m.seq)
  end
  if settings.mode == FIFO and (m.state == LEASED or m.state == BACKOFF) then
    return LOCKS .. lane_of(m) .. digits(m.seq)
  end
end
