-- Window counters: fixed, anchored and sliding. See docs/algorithms.md. The same algorithm in TypeScript:
-- packages/core/src/algorithms/window.ts.
--
-- Uses: `now`, `format`, `CORRUPT`, `reply`, `reply_size` (head.lua); `call`, `match`, `lifetime`, `number`, `floor`,
-- `max`, `min` and the operations (shared.lua). Defines: `window`.
--
-- Stored, format 1: a string `start:current:previous`. The length of the window is part of the key's name.

local function window()
  -- Whether a x b <= c x d, exactly, for a and c up to 2^30, b and d up to 2^45: compares the products in two halves.
  local SPLIT = 4194304
  local function product_at_most(a, b, c, d)
    local low, other_low = a * (b % SPLIT), c * (d % SPLIT)
    local high = a * floor(b / SPLIT) + floor(low / SPLIT)
    local other_high = c * floor(d / SPLIT) + floor(other_low / SPLIT)
    return high < other_high or (high == other_high and low % SPLIT <= other_low % SPLIT)
  end

  local function fresh(step)
    return step.anchored and now or now - now % step.window
  end

  local function read(step, key)
    local window, fresh_start = step.window, fresh(step)
    local start, current, previous, cut = fresh_start, 0, 0, false
    local text = call('GET', key)
    if text then
      local s, c, p = match(text, '^(%d+):(%d+):(%d+)$')
      if not s then
        error(CORRUPT)
      end
      start, current, previous = tonumber(s), tonumber(c), tonumber(p)
      local over = fresh_start > start
      if step.anchored then
        over = current == 0 or now >= start + window
      end
      if over then
        previous = fresh_start == start + window and current or 0
        start, current = fresh_start, 0
      elseif start - now > window then
        start, cut = fresh_start, true -- the clock went back by more than a window
      end
    end
    if not step.sliding then
      previous = 0
    end
    step.start, step.current, step.previous, step.cut = start, current, previous, cut
  end

  local function judge(step, key)
    if step.op == RESET then
      return true
    end
    read(step, key)
    local current, cost = step.current, step.cost
    if step.op == PUT then
      return step.at == step.start and current > 0
    end
    local room = step.limit - current - cost
    if room < 0 then
      return false
    end
    local previous, window = step.previous, step.window
    return previous <= room or product_at_most(previous, window - max(0, now - step.start), room, window)
  end

  local function apply(step, key, go)
    local op, passes, window = step.op, step.passes, step.window
    local start, current, previous = step.start, step.current, step.previous
    local write = step.cut and op <= SHADOW
    if op == RESET then
      call('DEL', key)
      start, current, previous = fresh(step), 0, 0
    elseif op == RECORD then
      current, write = min(current + step.cost, max(current, step.limit)), true
    elseif op == PUT and passes then
      current, write = max(0, current - step.cost), true
    elseif op <= SHADOW and passes and go then
      current, write = current + step.cost, true
    end
    if write then
      local ends = start + (step.sliding and 2 * window or window)
      local text = format('%d:%d:%d', start, current, previous)
      call('SET', key, text, 'PX', lifetime(ends - now))
    end
    reply[reply_size + 1] = current * 2 + (passes and 1 or 0)
    reply[reply_size + 2] = start - now
    reply_size = reply_size + 2
    if step.sliding then
      reply_size = reply_size + 1
      reply[reply_size] = previous
    end
  end

  return function(op)
    local cost, limit, length, kind = number(), number(), number(), number()
    return {
      op = op, judge = judge, apply = apply, passes = false,
      cost = cost, limit = limit, window = length, sliding = kind == 1, anchored = kind == 2,
      at = op == PUT and number() or 0,
      start = 0, current = 0, previous = 0, cut = false,
    }
  end
end
