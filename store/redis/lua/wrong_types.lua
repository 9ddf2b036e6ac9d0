-- The end of a script that failed: the error names the keys that are not of the type that they were made with, by the letters of
-- KINDS. It begins with BEFORE, which says whether the call may be done in part.
local NAMES = { h = 'hash', s = 'stream', z = 'zset', l = 'list', t = 'string' }
local wrong = ''
for i = 1, math.min(#KEYS, #KINDS) do
  local have, want = redis.pcall('TYPE', KEYS[i]), NAMES[string.sub(KINDS, i, i)]
  if have.ok and have.ok ~= 'none' and have.ok ~= want then
    wrong = wrong .. '; the key ' .. KEYS[i] .. ' is a ' .. have.ok .. ' and should be a ' .. want
  end
end
return redis.error_reply(BEFORE .. text .. wrong)
