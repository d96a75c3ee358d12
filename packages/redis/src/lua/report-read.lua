-- Reads hashes of reports.
--
-- KEYS: hashes. ARGV: their fields; without fields, all are read.
-- Reply: now in milliseconds; then for each hash a list of fields and texts.

local time = redis.call('TIME')
local reply = { time[1] .. string.format('%03d', (time[2] - time[2] % 1000) / 1000) }
for i, key in ipairs(KEYS) do
  local found = {}
  if #ARGV == 0 then
    found = redis.call('HGETALL', key)
  end
  for _, field in ipairs(ARGV) do
    found[#found + 1] = field
    found[#found + 1] = redis.call('HGET', key, field) or ''
  end
  reply[i + 1] = found
end
return reply
