-- Reads the live settings, unless the caller has the latest revision.
--
-- KEYS: settings (hash), revision (string), data set (string), kept settings (hash), followers (hash).
-- ARGV: the caller's revision; its id among the followers.
-- Reply: now in microseconds; the revision; the data set; 1 if the caller is among the followers; then, if the revision
-- differs, fields and values.
-- If there is no revision (nothing was ever set, or Redis has lost it): `0` as the revision; the label of the kept
-- settings (control-keep.lua) as the data set; and the kept fields and values only if they are newer than the caller's.

local call = redis.call
local time = call('TIME')
-- An invalid list of followers must not prevent reading the settings.
local noted = redis.pcall('HGET', KEYS[5], ARGV[2]) and 1 or 0
local reply = { time[1] .. string.format('%06d', time[2]), '0', '', noted }

local function add(fields)
  for i = 1, #fields, 2 do
    if fields[i] ~= '!' then
      reply[#reply + 1] = fields[i]
      reply[#reply + 1] = fields[i + 1]
    end
  end
end

local revision = call('GET', KEYS[2])
if revision then
  -- Above 2^53, different revisions can be equal numbers. This library writes no such value.
  if not revision:find('^%d+$') or tonumber(revision) > 9e15 then
    revision = '1'
  end
  reply[2] = revision
  reply[3] = (call('GET', KEYS[3]) or ''):sub(1, 64)
  if revision ~= ARGV[1] then
    add(call('HGETALL', KEYS[1]))
  end
else
  reply[3] = (call('HGET', KEYS[4], '!') or ''):sub(1, 100)
  local kept = reply[3]:match('^1 (%d+) ')
  if kept and tonumber(kept) > (tonumber(ARGV[1]) or 0) and tonumber(kept) <= 9e15 then
    add(call('HGETALL', KEYS[4]))
  end
end
return reply
