-- Registers which revision of the settings a process follows, and for which limiters.
--
-- KEYS: followers (hash).
-- ARGV: the id of the process; how long the entry is kept in milliseconds (0: remove it); the revision; the names of
-- its limiters (JSON); the maximum number of processes.
-- Stored, format 1: `1 until revision names`, by id. A new process removes expired entries.
-- Reply: 1; 0 if the list is full.

local call = redis.call
local id, holds = ARGV[1], tonumber(ARGV[2])
if holds == 0 then
  call('HDEL', KEYS[1], id)
  return 1
end
local time = call('TIME')
local now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
if not call('HGET', KEYS[1], id) then
  local stored, count = call('HGETALL', KEYS[1]), 0
  for i = 1, #stored, 2 do
    local ends = string.match(stored[i + 1], '^1 (%d+) ')
    if ends and tonumber(ends) <= now then
      call('HDEL', KEYS[1], stored[i])
    else
      count = count + 1
    end
  end
  if count >= tonumber(ARGV[5]) then
    return 0
  end
end
call('HSET', KEYS[1], id, string.format('1 %.0f %s %s', now + holds, ARGV[3], ARGV[4]))
return 1
