-- Fast path for groups of one take of one queue, which are decided without creating the functions of queue.lua. Stops
-- at the first group of another kind, and at the first queue whose state must be adjusted before the decision: by the
-- clock, by a pause, or for a rule with another denominator. Then main.lua continues.
--
-- Uses: `now`, `tick`, `spare`, `try`, `format`, `reply`, `reply_size`, `arg_index`, `keys_done`, `is_late`
-- (head.lua). Defines nothing; returns the reply if all groups are done.
--
-- Three implementations charge a queue and must agree. If you change one, change all: this file, queue.lua (which
-- documents the stored format), and packages/core/src/algorithms/queue.ts.

local sub = string.sub
local is_plain = true
while is_plain and not is_late and keys_done < #KEYS
    and ARGV[arg_index + 2] == '1' and ARGV[arg_index + 3] == 'q' and ARGV[arg_index + 4] < '3' do
  local groups, inc = tonumber(ARGV[arg_index + 1]), tonumber(ARGV[arg_index + 5])
  local reach, lead, den = tonumber(ARGV[arg_index + 6]), tonumber(ARGV[arg_index + 7]), tonumber(ARGV[arg_index + 8])
  local args, inc_num, reach_num, own_span = 8, 0, 0, reach
  if den > 1 then
    args, inc_num, reach_num = 11, tonumber(ARGV[arg_index + 9]), tonumber(ARGV[arg_index + 10])
    lead = lead + 1 -- rounded up
    own_span = reach_num > 0 and reach + 1 or reach
  end
  -- The usual text after the instant. It is compared and written back without parsing.
  local own_tail = own_span == reach and ':' .. ARGV[arg_index + 6] or format(':%d', own_span)
  local own_pause = own_tail .. ':'
  local pause_at = 17 + #own_pause -- where the pause begins in these texts
  local latest = now + reach -- the latest instant after a charge
  local done = 0

  while is_plain and done < groups do
    local key = KEYS[keys_done + done + 1]
    local text = try('GET', key)
    local us, num, span, pause, tail, till = now, 0, own_span, 0, own_tail, ''
    if text and #text < 17 then
      is_plain = false -- no such text, or an error: a table
    elseif text then
      -- From 2001 to 2286, an instant in microseconds has 16 digits.
      us, tail = tonumber(sub(text, 1, 16)) or 0, sub(text, 17, pause_at - 1)
      if tail == own_tail then
        us = us < now and now or us
        is_plain = us <= now + span and us % 1 == 0
      else
        local over
        -- Only 16 digits convert to a number, and then nothing follows the pause.
        till = tail == own_pause and #text == pause_at + 15 and sub(text, pause_at) or ''
        pause = tonumber(till)
        if not pause then
          local ahead, ends, part
          tail, till = sub(text, 17), ''
          ahead, ends, part, over = string.match(tail, '^:(%d+):?(%d*):?(%d*):?(%d*)$')
          span, pause, num = tonumber(ahead) or 0, tonumber(ends) or 0, tonumber(part) or 0
        end
        is_plain = us % 1 == 0 and pause % 1 == 0 and (num == 0 or over == ARGV[arg_index + 8])
          and (pause > now and us >= pause + lead and us < pause + span and pause <= now + 86400000000
            or pause <= now and us > now and us < now + span)
      end
    end

    if is_plain then
      local next_us, next_num = us + inc, num + inc_num
      if next_num >= den then
        next_us, next_num = next_us + 1, next_num - den
      end
      local passes = next_us < latest or (next_us == latest and next_num <= reach_num)
      local fault
      if passes then
        if num > 0 or next_num > 0 or span < own_span then
          span = span < own_span and own_span or span
          till = ''
          tail = next_num > 0 and format(':%d:%d:%d:%d', span, pause, next_num, den)
            or (pause > 0 and format(':%d:%d', span, pause) or format(':%d', span))
        end
        us, num = next_us, next_num
        fault = try('SET', key, format('%d', us) .. tail .. till, 'PX', format('%d', (us - now) / tick + spare)).err
      end
      reply_size = reply_size + 1
      if fault then
        reply[reply_size] = '!' .. fault
      else
        reply[reply_size] = (us - now + 1) * 2 + (passes and 1 or 0)
        reply_size = reply_size + 1
        reply[reply_size] = pause > now and pause - now or 0
        if den > 1 then
          reply_size = reply_size + 1
          reply[reply_size] = num
        end
      end
      done = done + 1
    end
  end
  keys_done = keys_done + done
  if is_plain then
    arg_index = arg_index + args
  else
    ARGV[arg_index + 1] = groups - done -- the groups left to main.lua
  end
end
if keys_done == #KEYS then
  return reply
end
