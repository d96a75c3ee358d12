-- Limits with a penalty (see docs/algorithms.md; packages/core/src/algorithms/lock.ts does the same).
--
-- Uses: `now`, `format`, `CORRUPT`, `reply`, `reply_size` (head.lua); `call`, `match`, `lifetime`, `number`, `max`,
-- `min` and the operations (shared.lua). Defines: `lock`.
--
-- Stored, format 1: a string `end:current:level:ended:locked`, the last 0 unless the key is locked.

local function lock()
  -- The longest lock up to a level.
  local function longest(step, level)
    return max(0, unpack(step.locks, 1, min(level, #step.locks)))
  end

  -- Reads the state. A lock, a window or a level that has expired is ended.
  local function read(step, key)
    local ends, current, level, ended, locked, cut = now + step.window, 0, 0, 0, 0, false
    local text = call('GET', key)
    if text then
      local e, c, l, d, u = match(text, '^(%d+):(%d+):(%d+):(%d+):(%d+)$')
      if not e then
        error(CORRUPT)
      end
      ends, current, level, ended, locked = tonumber(e), tonumber(c), tonumber(l), tonumber(d), tonumber(u)
      if locked > now then
        local most = now + longest(step, level)
        cut = locked > most -- the clock went back, or the rule now has shorter locks
        locked = min(locked, most)
      else
        if locked > 0 then
          ended, locked, current = locked, 0, 0
        end
        ended = min(ended, now)
        if now >= ended + step.forget then
          level, ended = 0, 0
        end
        if current == 0 or now >= ends then
          ends, current = now + step.window, 0
        elseif ends - now > 2 * step.window then
          ends, cut = now + step.window, true -- the clock went back, or the window was shortened
        end
      end
    end
    step.ends, step.current, step.level, step.ended, step.locked, step.cut = ends, current, level, ended, locked, cut
  end

  local function judge(step, key)
    local op = step.op
    if op == RESET then
      return true
    end
    read(step, key)
    if op == PUT then
      return step.at == step.ends and step.current > 0
    end
    return op == HOLD or (step.locked == 0 and step.current + step.cost <= step.limit)
  end

  local function apply(step, key, go)
    local op, passes, cost, limit, locks = step.op, step.passes, step.cost, step.limit, step.locks
    local ends, current, level, locked = step.ends, step.current, step.level, step.locked
    local write, until_us = step.cut and op <= SHADOW, 0
    if op == RESET then
      call('DEL', key)
      ends, current, locked = now + step.window, 0, 0
    elseif op == PUT and passes then
      current, write = max(0, current - cost), true
      if locked > 0 then
        level, locked = level - 1, 0
      end
    elseif op == HOLD then
      until_us = now + min(step.hold, longest(step, #locks))
    elseif locked == 0 and (op == RECORD or (op <= SHADOW and passes and go)) then
      current, write = min(current + cost, max(current, limit)), true
    elseif op == TAKE and not passes and locked == 0 and cost <= limit then
      -- This rejection locks the key even if other steps reject the group, too.
      until_us = now + locks[min(level + 1, #locks)]
    end
    if until_us > max(now, locked) then
      level = locked == 0 and level + 1 or level
      while now + longest(step, level) < until_us do -- a hold can last longer than the lock of this level
        level = level + 1
      end
      locked, write = until_us, true
    end
    if write then
      local expires = locked + step.forget
      if locked == 0 then
        expires = max(current > 0 and ends or 0, level > 0 and step.ended + step.forget or 0)
      end
      if expires > now then
        call('SET', key, format('%d:%d:%d:%d:%d', ends, current, level, step.ended, locked), 'PX', lifetime(expires - now))
      else
        call('DEL', key)
      end
    end
    reply[reply_size + 1] = current * 2 + (passes and 1 or 0)
    reply[reply_size + 2] = ends - now
    reply[reply_size + 3] = max(0, locked - now)
    reply_size = reply_size + 3
  end

  return function(op)
    local cost, limit, length, forget, count = number(), number(), number(), number(), number()
    local locks = {}
    for i = 1, count do
      locks[i] = number()
    end
    return {
      op = op, judge = judge, apply = apply, passes = false, cost = cost, limit = limit, window = length,
      forget = forget, locks = locks,
      at = op == PUT and number() or 0, hold = op == HOLD and number() or 0,
      ends = 0, current = 0, level = 0, ended = 0, locked = 0, cut = false,
    }
  end
end
