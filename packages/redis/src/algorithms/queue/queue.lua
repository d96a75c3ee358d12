-- The queue, a bucket with waiting. See docs/algorithms.md. The same algorithm in TypeScript:
-- packages/core/src/algorithms/queue.ts.
--
-- Uses: `now`, `format`, `CORRUPT`, `reply`, `reply_size` (head.lua); `call`, `match`, `lifetime`, `number`, `max`,
-- `min` and the operations (shared.lua). Defines: `queue`.
--
-- Three implementations charge a queue and must agree. If you change one, change all: this file, takes.lua, and
-- packages/core/src/algorithms/queue.ts.
--
-- Stored, format 1: a string `us:span`. `us` is an instant, as in a bucket, and `span` is how far it may be ahead of
-- now or of the end of a pause. `:pause` follows if there was one. If the instant is not a whole number of
-- microseconds, `:pause:num:den` follows, with a pause of 0 if there was none.

local function queue()
  local MAX_HOLD = 86400000000 -- the longest pause

  local function raise(step, us, num)
    if us > step.us or (us == step.us and num > step.num) then
      step.us, step.num = us, num
    end
  end

  -- Refunds only the latest take.
  local function put(step)
    local us, num = step.us, step.num
    if us ~= step.at or num ~= step.at_num or us < now or (us == now and num == 0) then
      return false
    end
    us, num = us - step.inc, num - step.inc_num
    if num < 0 then
      us, num = us - 1, num + step.den
    end
    if us < now then
      us, num = now, 0
    end
    step.next, step.next_num = us, num
    return true
  end

  -- Converts the state to what the rule sees: an instant that is neither past nor inside a pause, with the rule's
  -- denominator.
  local function view(step, text)
    local whole, ahead, till, part, over = match(text, '^(%d+):(%d+):?(%d*):?(%d*):?(%d*)$')
    if not whole then
      error(CORRUPT)
    end
    local us, num, span, pause = tonumber(whole), tonumber(part) or 0, tonumber(ahead), tonumber(till) or 0
    if pause <= now and (us < now or (us == now and num == 0)) then
      return -- idle
    end
    if num > 0 and tonumber(over) ~= step.den then
      us, num = us + 1, 0 -- a fraction with another denominator is rounded up
    end
    if pause > now + MAX_HOLD then -- the clock went back
      pause, step.cut = now + MAX_HOLD, true
    end
    local latest = max(now, pause) + span
    if us > latest or (us == latest and num > 0) then
      us, num, step.cut = latest, 0, true
    end
    step.us, step.num, step.span, step.pause = us, num, span, pause
    if pause > now then
      raise(step, pause + step.lead, step.lead_num)
    end
  end

  local function judge(step, key)
    local op = step.op
    step.us, step.num, step.span, step.pause, step.cut = now, 0, 0, 0, false
    local text = op ~= RESET and call('GET', key)
    if text then
      view(step, text)
    end
    if op == PUT then
      return put(step)
    elseif op == RESET or op == HOLD then
      return true
    end
    local us, num, latest = step.us, step.num, now + step.reach
    if step.from > us then
      us, num = step.from, 0
    end
    us, num = us + step.inc, num + step.inc_num
    if num >= step.den then
      us, num = us + 1, num - step.den
    end
    if step.wait then -- the earliest start, in whole microseconds
      step.start = max(now, us - step.reach + step.wait + (num > step.reach_num and 1 or 0))
    end
    local fits = us < latest or (us == latest and num <= step.reach_num)
    if fits then
      step.next, step.next_num = us, num
    else
      step.next, step.next_num = latest, step.reach_num -- used by a record
    end
    return fits and not step.over
  end

  local function write(step, key)
    local us, num, span, pause = step.us, step.num, step.span, step.pause
    if us < now or (us == now and num == 0) then
      call('DEL', key)
      return
    end
    local text = format('%d:%d', us, span)
    if num > 0 then
      text = format('%s:%d:%d:%d', text, pause, num, step.den)
    elseif pause > 0 then
      text = format('%s:%d', text, pause)
    end
    call('SET', key, text, 'PX', lifetime(us - now))
  end

  local function apply(step, key, go)
    local op, passes = step.op, step.passes
    if op == RESET then
      call('DEL', key)
    elseif op == PUT and passes then
      step.us, step.num = step.next, step.next_num
      if step.pause > now then
        raise(step, step.pause + step.lead, step.lead_num)
      end
      write(step, key)
    elseif op == HOLD then
      step.pause = max(step.pause, now + min(step.hold, MAX_HOLD))
      raise(step, step.pause + step.lead, step.lead_num)
      step.span = max(step.span, step.own_span)
      write(step, key)
    elseif (passes and go and op <= SHADOW) or op == RECORD then
      raise(step, step.next, step.next_num)
      step.span = max(step.span, step.own_span)
      write(step, key)
    elseif step.cut and op <= SHADOW then
      write(step, key)
    end
    reply_size = reply_size + 2
    reply[reply_size - 1] = (step.us - now + 1) * 2 + (passes and 1 or 0)
    reply[reply_size] = max(step.pause - now, 0)
    if step.den > 1 then
      reply_size = reply_size + 1
      reply[reply_size] = step.num
    end
  end

  return function(op)
    local inc, reach, lead, den = number(), number(), number(), number()
    local inc_num, reach_num, lead_num, at, at_num, hold, over = 0, 0, 0, 0, 0, 0, false
    if den > 1 then
      inc_num, reach_num, lead_num = number(), number(), number()
    end
    local wait
    if op == TOGETHER then
      op, wait = TAKE, number()
    elseif op == PUT then
      at, at_num = number(), number()
    elseif op == HOLD then
      hold = number()
    elseif op == RECORD then
      over = number() == 1
    end
    return {
      op = op, judge = judge, apply = apply, passes = false,
      inc = inc, reach = reach, lead = lead, den = den, inc_num = inc_num, reach_num = reach_num, lead_num = lead_num,
      own_span = reach_num > 0 and reach + 1 or reach, at = at, at_num = at_num, hold = hold, over = over,
      wait = wait, from = 0, start = 0, us = 0, num = 0, span = 0, pause = 0, cut = false, next = 0, next_num = 0,
    }
  end
end
