-- The common case, in a straight line: takes of one bucket each. It does what bucket.lua does, but makes no function,
-- for that takes as long as a decision. Whatever is not such a take, and all after it, is left to main.lua.

local try = redis.pcall
while not late and before < #KEYS and ARGV[at + 2] == '1' and ARGV[at + 3] == 'g' and ARGV[at + 4] < '3' do
  local groups = tonumber(ARGV[at + 1])
  local inc, tol, den = tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7])
  local inc_num, tol_num = 0, 0
  at = at + 7
  if den > 1 then
    inc_num, tol_num = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    at = at + 2
  end
  local brim = now + tol

  for i = before + 1, before + groups do
    local key = KEYS[i]
    local text = try('GET', key)
    local us, num, write, fault = now, 0, false, nil
    if text then
      us = tonumber(text)
      -- Only what would count as full, or is no integer, is worth a closer look: tonumber takes '0x1' and '1e3' too.
      if not us or us < now or us % 1 ~= 0 then
        local whole, part = match(text.err and '' or text, '^(%d+):?(%d*)$')
        if not whole then
          fault, us = text.err or CORRUPT, now
        else
          us, num = tonumber(whole), tonumber(part) or 0
        end
        if us < now then
          us, num = now, 0
        end
      end
      if us > brim or (us == brim and num > tol_num) then
        us, num, write = brim, tol_num, true
      end
    end

    local next_us, next_num = us + inc, num + inc_num
    if next_num >= den then
      next_us, next_num = next_us + 1, next_num - den
    end
    local passes = next_us < brim or (next_us == brim and next_num <= tol_num)
    if passes then
      us, num, write = next_us, next_num, true
    end
    if write and not fault then
      local value = num == 0 and us or format('%d:%d', us, num)
      fault = try('SET', key, value, 'PX', lifetime(us - now)).err
    end

    size = size + 1
    if fault then
      reply[size] = '!' .. fault
    else
      reply[size] = (us - now + 1) * 2 + (passes and 1 or 0)
      if den > 1 then
        size = size + 1
        reply[size] = num
      end
    end
  end
  before = before + groups
end
if before == #KEYS then
  return reply
end
