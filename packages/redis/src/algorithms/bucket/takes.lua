-- Fast path for the most common groups, one take of one bucket each. It decides like bucket.lua without creating its
-- functions, which would take as long as a decision. Stops at the first group of another kind; main.lua decides that
-- one and all after it.
--
-- If a call has only one run of such groups, its arguments are the deadline, `inc` and `tol`, and with fractions also
-- `den`, `inc_num` and `tol_num`. Any other call has at least eight arguments.
--
-- Uses: `now`, `tick`, `spare`, `try`, `format`, `CORRUPT`, `reply`, `reply_size`, `arg_index`, `keys_done`,
-- `is_late`. Defines nothing; returns the reply if all groups are done.
--
-- Four implementations charge a bucket and must agree. If you change one, change all: this file, bucket.lua,
-- and in packages/core/src/algorithms/bucket.ts stepBucket and takeWhole.

local is_short = #ARGV < 8
while keys_done < #KEYS and (is_short
    or (ARGV[arg_index + 2] == '1' and ARGV[arg_index + 3] == 'g' and ARGV[arg_index + 4] < '3')) do
  local groups = #KEYS
  if not is_short then
    groups, arg_index = ARGV[arg_index + 1] + 0, arg_index + 4
  end
  local inc, tol, den = ARGV[arg_index + 1] + 0, ARGV[arg_index + 2] + 0, (ARGV[arg_index + 3] or 1) + 0
  local inc_num, tol_num = 0, 0
  arg_index = arg_index + 3
  if den > 1 then
    inc_num, tol_num = ARGV[arg_index + 1] + 0, ARGV[arg_index + 2] + 0
    arg_index = arg_index + 2
  end
  local latest = now + tol -- the instant of an empty bucket

  for i = keys_done + 1, keys_done + groups do
    local key = KEYS[i]
    local text = not is_late and try('GET', key)
    local us, num, write, fault = now, 0, false, is_late and 'late'
    if text then
      us = tonumber(text)
      -- Parses the text only if the number is past or not an integer, because tonumber also accepts '0x1' and '1e3'.
      if not us or us < now or us % 1 ~= 0 then
        local whole, part = string.match(text.err and '' or text, '^(%d+):?(%d*)$')
        if not whole then
          fault, us = text.err or CORRUPT, now
        else
          us, num = tonumber(whole), tonumber(part) or 0
        end
        if us < now then
          us, num = now, 0
        end
      end
      if us > latest or (us == latest and num > tol_num) then
        us, num, write = latest, tol_num, true
      end
    end

    local next_us, next_num = us + inc, num + inc_num
    if next_num >= den then
      next_us, next_num = next_us + 1, next_num - den
    end
    local passes = next_us < latest or (next_us == latest and next_num <= tol_num)
    if passes then
      us, num, write = next_us, next_num, true
    end
    if write and not fault then
      local value = num == 0 and format('%d', us) or format('%d:%d', us, num)
      fault = try('SET', key, value, 'PX', format('%d', (us - now) / tick + spare)).err
    end

    reply_size = reply_size + 1
    if fault then
      reply[reply_size] = '!' .. fault
    else
      reply[reply_size] = (us - now + 1) * 2 + (passes and 1 or 0)
      if den > 1 then
        reply_size = reply_size + 1
        reply[reply_size] = num
      end
    end
  end
  keys_done = keys_done + groups
end
if keys_done == #KEYS then
  return reply
end
