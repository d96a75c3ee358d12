-- Stores what a process reports about its limiters.
--
-- KEYS: the process's report (hash), reports (hash).
-- ARGV: the id of the process; how long its report is kept, in milliseconds; the maximum number of processes; then for
-- each limiter its name and its text.
-- Stored in reports, format 1: by id, `1` and the time of the last call in milliseconds.
-- Reply: 1; 0 if there are too many running processes already.

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
local id, kept = ARGV[1], tonumber(ARGV[2])
-- A running process reports at least every 10 s.
local runs_within = 30000

if call('HSET', KEYS[2], id, '1 ' .. string.format('%.0f', now)) == 1 then
  local count = 0
  local oldest, oldest_age
  local all = call('HGETALL', KEYS[2])
  for i = 1, #all, 2 do
    -- Entries of any format count, because other releases write them. After the clock went back, times can be ahead.
    local at = tonumber(all[i + 1]:match('^%d+ (%d+)'))
    if not at or math.abs(now - at) >= kept then
      call('HDEL', KEYS[2], all[i])
    else
      count = count + 1
      if not oldest or math.abs(now - at) > oldest_age then
        oldest, oldest_age = all[i], math.abs(now - at)
      end
    end
  end
  if count > tonumber(ARGV[3]) then
    if oldest_age < runs_within then
      call('HDEL', KEYS[2], id)
      return 0
    end
    call('HDEL', KEYS[2], oldest)
  end
end
call('PEXPIRE', KEYS[2], kept)
if #ARGV > 3 then
  call('HSET', KEYS[1], unpack(ARGV, 4))
end
call('PEXPIRE', KEYS[1], kept)
return 1
