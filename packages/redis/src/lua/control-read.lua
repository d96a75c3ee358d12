-- Reads what is set live, unless the caller has the newest revision already.
--
-- KEYS: settings (hash), revision (string). ARGV: the revision that the caller has.
-- Reply: now in microseconds; the revision; then, if it is another one, fields and values.

local time = redis.call('TIME')
local revision = redis.call('GET', KEYS[2]) or '0'
local reply = { time[1] .. string.format('%06d', time[2]), revision }
if revision ~= ARGV[1] then
  for _, text in ipairs(redis.call('HGETALL', KEYS[1])) do
    reply[#reply + 1] = text
  end
end
return reply
