-- For comparison: one token bucket, stored as one instant. The client sends the time; the script returns four integers.
local now, unit, tolerance = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local tat = tonumber(redis.call('GET', KEYS[1])) or now
if tat < now then
  tat = now
end
local next_tat = tat + unit
local allowed = next_tat - now <= tolerance
if allowed then
  tat = next_tat
  redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil((tat - now) / 1000))
end
local room = math.max(tolerance - (tat - now), 0)
return { allowed and 1 or 0, math.floor(room / unit), allowed and 0 or next_tat - now - tolerance, tat - now }
