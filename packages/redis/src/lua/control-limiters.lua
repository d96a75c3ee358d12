-- Reads the list of limiters.
--
-- KEYS: limiters (hash). ARGV: names of limiters; without names, all are read.
-- Reply: now in milliseconds; then names and texts, as control-announce.lua stores them.

local time = redis.call('TIME')
local reply = { time[1] .. string.format('%03d', (time[2] - time[2] % 1000) / 1000) }
if #ARGV == 0 then
  for _, text in ipairs(redis.call('HGETALL', KEYS[1])) do
    reply[#reply + 1] = text
  end
end
for _, name in ipairs(ARGV) do
  reply[#reply + 1] = name
  reply[#reply + 1] = redis.call('HGET', KEYS[1], name) or ''
end
return reply
