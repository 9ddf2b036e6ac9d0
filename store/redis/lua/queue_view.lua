-- Chunk: what is found by looking at a message: what a receiver would see, and then
--   state as in a selection, end of the delay or lease, token, consumer, beginning of the last lease, reason, visits
-- include: queue_select

local function view(m)
  local v = shown(m)
  local state = m.state == MOVING and m.was or m.state -- not yet gone
  for _, value in ipairs({ FLAGS[state], clocks.in_elapsed(m.due), m.token, m.consumer, m.since, m.reason, visits_of(m) }) do
    v[#v + 1] = value
  end
  return v
end
