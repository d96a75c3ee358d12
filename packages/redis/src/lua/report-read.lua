-- Reads hashes of reports. A key of another type counts as empty, so that it does not prevent reading the others.
--
-- KEYS: hashes. ARGV: their fields; without fields, all are read.
-- Reply: now in milliseconds; then for each hash a list of fields and texts.

local function fields_of(key)
  if #ARGV == 0 then
    return redis.pcall('HGETALL', key)
  end
  local found = {}
  for i, field in ipairs(ARGV) do
    local text = redis.pcall('HGET', key, field) or ''
    if type(text) == 'table' then
      return text
    end
    found[2 * i - 1], found[2 * i] = field, text
  end
  return found
end

local time = redis.call('TIME')
local reply = { time[1] .. string.format('%03d', (time[2] - time[2] % 1000) / 1000) }
for i, key in ipairs(KEYS) do
  local found = fields_of(key)
  if found.err and not found.err:find('WRONGTYPE', 1, true) then
    return found
  end
  reply[i + 1] = found.err and {} or found
end
return reply
