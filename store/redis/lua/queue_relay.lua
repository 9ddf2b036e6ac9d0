-- Chunk: what a change of settings, or a script that failed, has left to do, in bounded steps. It is noted in the counter work,
-- see doc.go.
-- include: queue_begin
-- include: queue_repair

-- lay puts messages from a sequence on into lanes, as if they had just come. Lanes were cleared before.
local function lay(from)
  local next = walk(from, SWEEP_LIMIT, function(m)
    if settings.has_groups then
      join(m.group)
      tally(m, 1)
    end
    list_in_lane(m)
  end)
  counters.work = next > 0 and 'lay ' .. text(next) or ''
end

-- rearrange decides anew which groups may be served, by name from one on.
local function rearrange(from)
  local list = ask('ZRANGEBYLEX', key.names, '[' .. from, '+', 'LIMIT', 0, SWEEP_LIMIT + 1)
  for i = 1, math.min(#list, SWEEP_LIMIT) do
    note_group(list[i])
  end
  counters.work = list[SWEEP_LIMIT + 1] and 'arrange ' .. list[SWEEP_LIMIT + 1] or ''
end

local function relay()
  local what, from = string.match(tostring(counters.work), '^(%a+) (.*)$')
  if what == 'lay' then
    lay(tonumber(from))
  elseif what == 'arrange' then
    rearrange(from)
  else
    repair(what, from)
  end
end
