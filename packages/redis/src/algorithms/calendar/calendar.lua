-- Counts by calendar (see docs/algorithms.md; packages/core/src/algorithms/calendar.ts does the same).
--
-- Uses: `now`, `format`, `CORRUPT`, `reply`, `reply_size`, `arg_index` (head.lua); `call`, `match`, `lifetime`,
-- `number`, `max`, `min` and the operations (shared.lua). Defines: `calendar`.
--
-- Stored, format 1: a string `label start end current`. The label may have spaces.

local function calendar()
  -- Periods that begin at most an hour apart are the same.
  local SAME = 3600000000

  -- The period of the step that contains the current time. If there is none, the process's clock differs from this
  -- server's. Then nothing is charged: the process learns the time from the reply and asks again.
  local function period_of(step)
    for i = 1, 2 do
      local period = step[i]
      if now >= period.start and now < period.ends then
        return period
      end
    end
    error('late', 0)
  end

  local function read(step, key)
    local period = period_of(step)
    step.label, step.start, step.ends, step.current, step.cut = period.label, period.start, period.ends, 0, false
    local text = call('GET', key)
    if not text then
      return
    end
    local label, s, e, c = match(text, '^(.+) (%d+) (%d+) (%d+)$')
    if not label then
      error(CORRUPT)
    end
    local start, ends = tonumber(s), tonumber(e)
    -- A count that began when its billing period was unknown continues in the first period that is known.
    if start == 0 then
      start = period.start
    end
    local later = period.start - start
    if now >= ends or later > SAME then
      return
    end
    step.current = tonumber(c)
    if -later <= SAME and period.start > 0 then
      step.start = start -- receipts contain it
    elseif start > period.ends then
      step.cut = true -- the clock went back by more than a period
    else
      step.label, step.start, step.ends = label, start, ends
    end
  end

  local function judge(step, key)
    if step.op == RESET then
      return true
    end
    read(step, key)
    if step.op == PUT then
      return (step.at == 0 or step.at == step.start) and step.current > 0
    end
    return step.current + step.cost <= step.limit
  end

  local function apply(step, key, go)
    local op, passes, current = step.op, step.passes, step.current
    local forgiven = 0
    local write = step.cut and op <= SHADOW
    if op == RESET then
      call('DEL', key)
      local period = period_of(step)
      step.start, step.ends, current = period.start, period.ends, 0
    elseif op == RECORD or (op <= SHADOW and passes and go) then
      local charged = min(step.all, max(0, step.most - current))
      current, forgiven, write = current + charged, step.all - charged, true
    elseif op == PUT and passes then
      current, write = max(0, current - step.cost), true
    end
    if write then
      local text = step.label .. format(' %d %d %d', step.start, step.ends, current)
      call('SET', key, text, 'PX', lifetime(step.ends - now))
    end
    reply[reply_size + 1] = current * 2 + (passes and 1 or 0)
    reply[reply_size + 2] = step.start - now
    reply[reply_size + 3] = step.ends - now
    reply[reply_size + 4] = forgiven
    reply_size = reply_size + 4
  end

  local function period()
    arg_index = arg_index + 1
    local label = ARGV[arg_index]
    local start = number()
    return { label = label, start = start, ends = number() }
  end

  return function(op)
    local cost, limit, all, most = number(), number(), number(), number()
    local at = op == PUT and number() or 0
    local current_period, next_period = period(), period()
    return {
      op = op, judge = judge, apply = apply, passes = false, cost = cost, limit = limit, at = at,
      all = all, most = most, settles = most > limit,
      current_period, next_period,
      label = '', start = 0, ends = 0, current = 0, cut = false,
    }
  end
end
