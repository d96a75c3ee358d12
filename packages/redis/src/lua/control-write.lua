-- Changes the live settings and adds the changes to the history, atomically.
--
-- KEYS: settings (hash), revision (string), history (list, latest first), data set (string), kept settings (hash).
-- ARGV: the maximum number of settings and of history entries, the author and reason (JSON), an id for a new data set,
-- the action; then for each change its field, its duration in milliseconds (`0`: until it is cleared; empty: clear it)
-- and its value (JSON).
-- Actions: `change`; `clear` (removes all settings); `restore` (writes the kept settings back, if Redis has none, or
-- older ones of the same data set); `force` (writes them over any others). If Redis has lost the settings, a change
-- also restores them: those that processes still follow must not end when something else is set.
-- Stored, format 1: settings `1 at until what`, entries `1 [id, at, field, before, after, who]`, all as text. Restored
-- settings have `"restored"`, an instant in milliseconds, at the end of their JSON.
-- Reply: the number of changes, and of restored settings. The first number is instead -1 if there are too many
-- settings, -2 if nothing is kept, -3 if Redis has these settings or newer ones, -4 if it has another data set.

local call, format, match = redis.call, string.format, string.match
local time = call('TIME')
local now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
local action = ARGV[5]

-- Reads everything before it writes anything, because a key of the wrong type must fail the whole call.
local revision = call('GET', KEYS[2])
local dataset = call('GET', KEYS[4]) or ''
local label = call('HGET', KEYS[5], '!') or ''
local kept, keptset = match(label, '^1 (%d+) (%S*)$')
kept = kept and tonumber(kept) <= 9e15 and tonumber(kept)
call('LLEN', KEYS[3])

local restores = kept and not revision and action == 'change'
if action == 'restore' or action == 'force' then
  restores = true
  if not kept then
    return { -2, 0 }
  end
  if revision and keptset == dataset and (tonumber(revision) or 0) >= kept then
    return { -3, 0 }
  end
  if revision and keptset ~= dataset and action ~= 'force' then
    return { -4, 0 }
  end
end
local stored = call('HGETALL', restores and KEYS[5] or KEYS[1])
-- A value above 2^53 is not from this library, and could not be incremented.
revision = tonumber(revision or '0') or 0
revision = revision <= 9e15 and revision or 0

local values, count, ended = {}, 0, {}
for i = 1, #stored, 2 do
  local ends = match(stored[i + 1], '^1 %d+ (%d+) ')
  if ends and ends ~= '0' and tonumber(ends) <= now then
    ended[#ended + 1] = stored[i]
  elseif not (restores and stored[i] == '!') then
    values[stored[i]] = stored[i + 1]
    count = count + 1
  end
end
for i = 6, #ARGV, 3 do
  if ARGV[i + 1] ~= '' and not values[ARGV[i]] then
    count = count + 1
  end
end
if count > tonumber(ARGV[1]) then
  return { -1, 0 }
end

-- At least the current time, so that the revision is new even after Redis has lost its data.
revision = math.max(revision, kept or 0, time[1] * 1000000 + time[2])
local changed, restored = 0, 0

local function note(field, before, after)
  revision = revision + 1
  local entry = { format('%.0f', revision), format('%.0f', now), field, before, after, ARGV[3] }
  call('LPUSH', KEYS[3], '1 ' .. cjson.encode(entry))
end

if restores then
  call('DEL', KEYS[1])
  for field, text in pairs(values) do
    if text:sub(-1) == '}' and not match(text, ',"restored":%d+}$') then
      text = text:sub(1, -2) .. format(',"restored":%.0f}', now)
    end
    values[field] = text
    call('HSET', KEYS[1], field, text)
    restored = restored + 1
    if restored <= tonumber(ARGV[2]) then
      note(field, '', text)
    end
  end
else
  for _, field in ipairs(ended) do
    call('HDEL', KEYS[1], field)
  end
end
if action == 'clear' then
  for field, text in pairs(values) do
    changed = changed + 1
    if changed <= tonumber(ARGV[2]) then
      note(field, text, '')
    end
  end
  call('DEL', KEYS[1])
  revision = revision + 1
end
for i = 6, #ARGV, 3 do
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
    changed = changed + 1
    note(field, before, after)
  end
end
if changed > 0 or restores then
  call('LTRIM', KEYS[3], 0, ARGV[2] - 1)
end
if changed > 0 or #ended > 0 or restores or action == 'clear' then
  if restores or action == 'clear' then
    call('DEL', KEYS[5])
  end
  -- Restored settings keep their data set. The first settings start a new one.
  local own = keptset and keptset ~= '' and keptset
  if restores and own then
    call('SET', KEYS[4], own)
  elseif dataset == '' then
    call('SET', KEYS[4], own or ARGV[4])
  end
  call('SET', KEYS[2], format('%.0f', revision + (restores and 1 or 0)))
end
return { changed, restored }
