-- Reads the followers of the settings.
--
-- KEYS: followers (hash), revision (string).
-- Reply: now in milliseconds; the newest revision; then ids and texts, as control-follow.lua stores them.

local time = redis.call('TIME')
local now = time[1] .. string.format('%03d', (time[2] - time[2] % 1000) / 1000)
local reply = { now, redis.call('GET', KEYS[2]) or '0' }
for _, text in ipairs(redis.call('HGETALL', KEYS[1])) do
  reply[#reply + 1] = text
end
return reply
