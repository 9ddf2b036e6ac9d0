#!lua flags=allow-oom
-- Creates a queue or replaces its settings, unless the revision is not above the present one.
-- KEYS: those of the queue, and the record of the tag. ARGV: as for every queue, with an empty revision, then
--   5    the new revision
--   6    1 to create the queue if there is none
--   7…   names and values of the settings that are not 0
-- Returns {now, 1, commit}.
-- include: queue_relay
-- include: record

-- Revisions may be larger than what Lua counts exactly.
local function above(a, b) return #a > #b or #a == #b and a > b end

local function new_settings()
  local s = {}
  for i = 7, #ARGV, 2 do
    s[ARGV[i]] = tonumber(ARGV[i + 1])
  end
  return cmsgpack.pack(s)
end

-- create makes the queue. After a failover it may be one that was lost, so that it begins where nothing was given out.
local function create()
  now = queueTime('')
  counters, as_read = {}, {}
  for _, name in ipairs(names) do
    counters[name] = 0
  end
  counters.next, counters.ends, counters.now, counters.work, counters.waits = 1, -1, now, '', ''
  if redis.call('EXISTS', unpack(KEYS, 2, 25)) > 0 then -- the counters alone were lost
    counters.next, counters.work = first_free(), 'repair '
  end
  if bump > 0 then
    jump()
  end
  commit()
  save_counters()
  redis.call('HSET', key.counters, 'settings', new_settings(), 'revision', ARGV[5])
end

local function replace(was)
  local packed = new_settings()
  settings = unpack_settings(packed)
  redis.call('HSET', key.counters, 'settings', packed, 'revision', ARGV[5])
  if settings.history == 0 then
    redis.call('UNLINK', key.history)
  else
    redis.call('LTRIM', key.history, -settings.history, -1)
  end
  if
    was.has_lanes ~= settings.has_lanes
    or was.has_groups ~= settings.has_groups
    or not was.has_groups and was.levels ~= settings.levels
  then
    redis.call('UNLINK', key.groups, key.names, key.servable, key.spent, key.by_lane)
    groups, unarranged, unsaved, gathered, ends_changed = {}, {}, {}, {}, true
    counters.work = settings.has_lanes and 'lay 1' or ''
  elseif settings.has_groups then
    counters.work = 'arrange '
  end
  if counters.work ~= '' then
    relay()
  end
  save()
  redis.call('SPUBLISH', key.news, 'c' .. ARGV[3])
end

local have = redis.call('HMGET', key.counters, 'settings', 'dropped')
if ARGV[6] == '1' and not have[1] and not have[2] then
  local refused = forgotten(KEYS[27])
  if refused then
    return refused
  end
  create()
else
  local early = begin() -- what ended before now ended under the old settings
  if early then
    return early
  end
  if unpack_settings(new_settings()).shards ~= settings.shards then
    return redis.error_reply('CONFLICT the queue has ' .. settings.shards .. ' shards for ever, 0 for none; create another one')
  end
  if not above(ARGV[5], revision) then
    return { now, 1, made() }
  end
  replace(settings)
end
return { now, 1, made() }
