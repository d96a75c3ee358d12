-- Stores settings that a process still has after Redis has lost them, so that they can be restored.
--
-- KEYS: kept settings (hash), revision (string), data set (string).
-- ARGV: how long they are kept in milliseconds; the revision and the data set of the process; then fields and values.
-- Stored: fields and values as in the settings, and `!`: `1 revision dataset`. The newest revision wins: a process has
-- all settings of its revision, so the newest contains every change and deletion that any process knows.
-- Reply: 1 if the process's settings are newer than those kept, and not in Redis already; 0 if not. Without fields, the
-- caller only asks, and nothing is stored.

local call = redis.call
local revision = tonumber(ARGV[2])
local set = call('GET', KEYS[2])
if set and (call('GET', KEYS[3]) or '') == ARGV[3] and (tonumber(set) or 0) >= revision then
  return 0
end
local kept = (call('HGET', KEYS[1], '!') or ''):match('^1 (%d+) ')
if kept and tonumber(kept) >= revision and tonumber(kept) <= 9e15 then
  call('PEXPIRE', KEYS[1], ARGV[1])
  return 0
end
if #ARGV > 3 then
  call('DEL', KEYS[1])
  for i = 4, #ARGV, 2 do
    call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
  call('HSET', KEYS[1], '!', '1 ' .. ARGV[2] .. ' ' .. ARGV[3])
  call('PEXPIRE', KEYS[1], ARGV[1])
end
return 1
