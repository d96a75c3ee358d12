-- Changes what is set live, and adds it to the history: both, or neither.
--
-- KEYS: settings (hash), revision (string), history (list, latest first).
-- ARGV: the most settings, the most entries of history, who (JSON); then for each change its field, how long it holds
-- in milliseconds (`0`: until it is cleared; empty: clear it) and what is set (JSON).
-- Stored, format 1: settings `1 at until what`, entries `1 [id, at, field, before, after, who]`, all in texts.
-- Reply: how many changed; -1 if there is no room.

local call, format, match = redis.call, string.format, string.match
local time = call('TIME')
local now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000

-- Reads everything before it writes anything: a key of the wrong type must fail the whole call.
local stored = call('HGETALL', KEYS[1])
local revision = tonumber(call('GET', KEYS[2]) or '0') or 0
call('LLEN', KEYS[3])

local values, count, ended = {}, 0, {}
for i = 1, #stored, 2 do
  local ends = match(stored[i + 1], '^1 %d+ (%d+) ')
  if ends and ends ~= '0' and tonumber(ends) <= now then
    ended[#ended + 1] = stored[i]
  else
    values[stored[i]] = stored[i + 1]
    count = count + 1
  end
end
for i = 4, #ARGV, 3 do
  if ARGV[i + 1] ~= '' and not values[ARGV[i]] then
    count = count + 1
  end
end
if count > tonumber(ARGV[1]) then
  return -1
end

for _, field in ipairs(ended) do
  call('HDEL', KEYS[1], field)
end
-- At least the time, so that the revision is a new one even after Redis has lost its data.
revision = math.max(revision, time[1] * 1000000 + time[2])
local changed = 0
for i = 4, #ARGV, 3 do
  local field, duration = ARGV[i], ARGV[i + 1]
  local before, after = values[field] or '', ''
  if duration ~= '' then
    local ends = duration == '0' and 0 or now + tonumber(duration)
    after = format('1 %.0f %.0f %s', now, ends, ARGV[i + 2])
    call('HSET', KEYS[1], field, after)
  elseif before ~= '' then
    call('HDEL', KEYS[1], field)
  end
  if before ~= '' or after ~= '' then
    changed, revision = changed + 1, revision + 1
    local entry = { format('%.0f', revision), format('%.0f', now), field, before, after, ARGV[3] }
    call('LPUSH', KEYS[3], '1 ' .. cjson.encode(entry))
  end
end
if changed > 0 then
  call('LTRIM', KEYS[3], 0, ARGV[2] - 1)
end
if changed > 0 or #ended > 0 then
  call('SET', KEYS[2], format('%.0f', revision))
end
return changed
