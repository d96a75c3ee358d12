-- The token bucket, stored as one instant. See docs/algorithms.md. The same algorithm in TypeScript:
-- packages/core/src/algorithms/bucket.ts.
--
-- Uses: `now`, `format`, `CORRUPT`, `reply`, `reply_size` (head.lua); `call`, `match`, `lifetime`, `number` and the
-- operations (shared.lua). Defines: `bucket`.
--
-- Four implementations charge a bucket and must agree. If you change one, change all: this file, takes.lua, and in
-- packages/core/src/algorithms/bucket.ts stepBucket and takeWhole.
--
-- Stored, format 1: a string, `us` or `us:num`: the instant at which the bucket is full again, in whole microseconds,
-- and a numerator. The denominator is the rule's, which is part of the key's name. Redis stores a plain integer in one
-- machine word.
--
-- With debt (`letter` is `o`), a take or record charges `all` instead of `inc`, up to `deepest`. The reply then also
-- has the time that could still be charged (plus 1) if `all` was more than that, and otherwise 0.

local function bucket(letter)
  local owes = letter == 'o'

  local function read(key)
    local text = call('GET', key)
    if not text then
      return -1, 0
    end
    local us, num = match(text, '^(%d+):?(%d*)$')
    if us then
      return tonumber(us), tonumber(num) or 0
    end
    error(CORRUPT)
  end

  -- Refunds the cost of a grant, except what has refilled since.
  local function put(step, us, num)
    local give, give_num = step.inc, step.inc_num
    local left = step.at - now
    if left < give or (left == give and step.at_num < give_num) then
      give, give_num = left, step.at_num
    end
    if us < now or (us == now and num == 0) or give < 0 or (give == 0 and give_num == 0) then
      return false
    end
    us, num = us - give, num - give_num
    if num < 0 then
      us, num = us - 1, num + step.den
    end
    step.next, step.next_num = us, num
    return true
  end

  local function charge_debt(step, us, num, most, most_num)
    local next, next_num = us + step.all, num + step.all_num
    if next_num >= step.den then
      next, next_num = next + 1, next_num - step.den
    end
    step.room, step.room_num = 0, 0
    if next > most or (next == most and next_num > most_num) then
      step.room, step.room_num = most - us + 1, most_num - num
      next, next_num = most, most_num
    end
    step.next, step.next_num = next, next_num
  end

  local function judge(step, key)
    local op = step.op
    if op == RESET then
      return true
    end
    local us, num = read(key)
    local den, latest, tol_num = step.den, now + step.tol, step.tol_num
    local most, most_num = latest, tol_num
    if owes then
      most, most_num = now + step.deepest, step.deepest_num
    end
    local cut = us > most or (us == most and num > most_num) -- the clock went back
    if cut then
      us, num = most, most_num
    end
    step.us, step.num, step.cut = us, num, cut
    if op == PUT then
      return put(step, us, num)
    end
    if us < now then
      us, num = now, 0
    end
    if owes then
      charge_debt(step, us, num, most, most_num)
    end
    us, num = us + step.inc, num + step.inc_num
    if num >= den then
      us, num = us + 1, num - den
    end
    if not owes then
      step.next, step.next_num = us, num
    end
    return us < latest or (us == latest and num <= tol_num)
  end

  local function write(key, us, num)
    if us < now or (us == now and num == 0) then
      call('DEL', key)
    elseif num == 0 then
      call('SET', key, format('%d', us), 'PX', lifetime(us - now))
    else
      call('SET', key, format('%d:%d', us, num), 'PX', lifetime(us - now))
    end
  end

  local function apply(step, key, go)
    local op, passes = step.op, step.passes
    local us, num = step.us, step.num
    local room, room_num = 0, 0
    if op == RESET then
      call('DEL', key)
      us, num = -1, 0
    elseif (passes or (owes and op == RECORD)) and ((go and op <= SHADOW) or op == RECORD or op == PUT) then
      us, num = step.next, step.next_num
      write(key, us, num)
      room, room_num = step.room, step.room_num
    elseif op == RECORD then
      us, num = now + step.tol, step.tol_num
      write(key, us, num)
    elseif step.cut and op <= SHADOW then
      write(key, us, num)
    end
    if us < now then
      us, num = now - 1, 0
    end
    -- State and verdict share an integer, because each integer in the reply costs Redis and the client time.
    reply_size = reply_size + 1
    reply[reply_size] = (us - now + 1) * 2 + (passes and 1 or 0)
    if step.den > 1 then
      reply_size = reply_size + 1
      reply[reply_size] = num
    end
    if owes then
      reply_size = reply_size + 1
      reply[reply_size] = room
      if step.den > 1 then
        reply_size = reply_size + 1
        reply[reply_size] = room_num
      end
    end
  end

  return function(op)
    local inc, tol, den, inc_num, tol_num, at_us, at_num = number(), number(), number(), 0, 0, 0, 0
    if den > 1 then
      inc_num, tol_num = number(), number()
    end
    if op == PUT then
      at_us, at_num = number(), number()
    end
    local step = {
      op = op, judge = judge, apply = apply, passes = false,
      inc = inc, tol = tol, den = den, inc_num = inc_num, tol_num = tol_num, at = at_us, at_num = at_num,
      us = 0, num = 0, cut = false, next = 0, next_num = 0,
    }
    if owes then
      step.all, step.deepest, step.all_num, step.deepest_num = number(), number(), 0, 0
      step.room, step.room_num, step.settles = 0, 0, true
      if den > 1 then
        step.all_num, step.deepest_num = number(), number()
      end
    end
    return step
  end
end
