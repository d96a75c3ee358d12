-- Takes of buckets that wait, one in a group, decided without making the functions of queue.lua, as bucket/takes.lua
-- does for buckets. Stops at the first group of another kind: main.lua decides that one and all after it.
--
-- Takes: `now`, `lifetime`, `match`, `format`, `CORRUPT`, `reply`, `reply_size`, `arg_index`, `keys_done`, `is_late`;
-- `try` (bucket/takes.lua).
-- Gives: `queue_view`, `queue_text` for queue.lua; returns the reply if all groups are done.
--
-- A bucket that waits is charged in three places, which must do the same. If you change one, change all three: this
-- file, queue.lua, and packages/core/src/algorithms/queue/step.ts.
--
-- Stored, format 1: a string, `us:span`, then `:pause` if there was one, then `:num:den` if the instant is not a whole
-- number of microseconds; without a pause, that is then 0.

-- The longest pause.
local MAX_HOLD = 86400000000

-- What a rule sees of a stored text: the instant, its numerator, the span, the pause, and whether the clock has made it
-- impossible. Nothing if the text is not one of ours. `lead` is the time that all but one of the burst take to refill.
local function queue_view(text, den, lead, lead_num)
  local whole, ahead, rest = match(text, '^(%d+):(%d+)(.*)$')
  if not whole then
    return nil
  end
  local us, num, span, pause, cut = tonumber(whole), 0, tonumber(ahead), 0, false
  if rest ~= '' then
    local till, part, over = match(rest, '^:(%d+):?(%d*):?(%d*)$')
    if not till then
      return nil
    end
    pause, num = tonumber(till), tonumber(part) or 0
    if num > 0 and tonumber(over) ~= den then
      us, num = us + 1, 0 -- a fraction over another denominator is rounded up
    end
  end
  if pause <= now and (us < now or (us == now and num == 0)) then
    return now, 0, 0, 0, false
  end
  if pause > now + MAX_HOLD then
    pause, cut = now + MAX_HOLD, true
  end
  local latest = (pause > now and pause or now) + span
  if us > latest or (us == latest and num > 0) then
    us, num, cut = latest, 0, true
  end
  if pause > now then
    local least = pause + lead
    if us < least or (us == least and num < lead_num) then
      us, num = least, lead_num
    end
  end
  return us, num, span, pause, cut
end

local function queue_text(us, num, den, span, pause)
  if num > 0 then
    return format('%d:%d:%d:%d:%d', us, span, pause, num, den)
  elseif pause > 0 then
    return format('%d:%d:%d', us, span, pause)
  end
  return format('%d:%d', us, span)
end

while not is_late and keys_done < #KEYS
    and ARGV[arg_index + 2] == '1' and ARGV[arg_index + 3] == 'q' and ARGV[arg_index + 4] < '3' do
  local groups = tonumber(ARGV[arg_index + 1])
  local inc, reach = tonumber(ARGV[arg_index + 5]), tonumber(ARGV[arg_index + 6])
  local lead, den = tonumber(ARGV[arg_index + 7]), tonumber(ARGV[arg_index + 8])
  local inc_num, reach_num, lead_num, own_span = 0, 0, 0, reach
  arg_index = arg_index + 8
  if den > 1 then
    inc_num, reach_num, lead_num =
      tonumber(ARGV[arg_index + 1]), tonumber(ARGV[arg_index + 2]), tonumber(ARGV[arg_index + 3])
    own_span = reach_num > 0 and reach + 1 or reach
    arg_index = arg_index + 3
  end
  local latest = now + reach -- where a charge may bring the instant

  for i = keys_done + 1, keys_done + groups do
    local key = KEYS[i]
    local text = try('GET', key)
    local us, num, span, pause, write, fault = now, 0, 0, 0, false, nil
    if text then
      us, num, span, pause, write = queue_view(text.err and '' or text, den, lead, lead_num)
      if not us then
        fault, us, num, span, pause = text.err or CORRUPT, now, 0, 0, 0
      end
    end

    local next_us, next_num = us + inc, num + inc_num
    if next_num >= den then
      next_us, next_num = next_us + 1, next_num - den
    end
    local passes = next_us < latest or (next_us == latest and next_num <= reach_num)
    if passes then
      us, num, write = next_us, next_num, true
      if span < own_span then
        span = own_span
      end
    end
    if write and not fault then
      fault = try('SET', key, queue_text(us, num, den, span, pause), 'PX', lifetime(us - now)).err
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
  end
  keys_done = keys_done + groups
end
if keys_done == #KEYS then
  return reply
end
