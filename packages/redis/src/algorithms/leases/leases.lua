-- Leases of permits. See docs/algorithms.md. The same algorithm in TypeScript:
-- packages/core/src/algorithms/leases.ts.
--
-- Uses: `now`, `format`, `reply`, `reply_size` (head.lua); `call`, `lifetime`, `number` and the operations
-- (shared.lua).
-- Defines: `leases`.
--
-- Stored, format 1: a sorted set of lease ids. The score is the instant at which the lease expires, in microseconds,
-- negated for critical holders. So one key holds both kinds, and all expired leases are in one range around 0.
--
-- Instants are converted to text once, because converting a number takes as long as a command.

local function leases()
  local after = '(' .. format('%d', now)
  local before_now = '(-' .. format('%d', now)
  -- The longest lease is 24 hours. A lease that ends later was taken before the clock went back.
  local horizon = format('%d', now + 86400000000)

  -- Counts the held permits. Sets `dead` if some have expired, and `cut` if some end later than any lease can.
  local function count(step, key)
    local all, ordinary, critical = call('ZCARD', key), 0, 0
    step.dead, step.cut = false, false
    if all > 0 then
      ordinary = call('ZCOUNT', key, after, horizon)
      if ordinary < all then
        critical = call('ZCOUNT', key, '-' .. horizon, before_now)
      end
      if ordinary + critical < all then
        local late = call('ZCOUNT', key, '(' .. horizon, '+inf')
        local late_critical = call('ZCOUNT', key, '-inf', '(-' .. horizon)
        step.cut = late + late_critical > 0
        ordinary, critical = ordinary + late, critical + late_critical
        step.dead = ordinary + critical < all
      end
    end
    step.ordinary, step.held = ordinary, ordinary + critical
  end

  local function holds(key, id)
    local expires = id ~= '' and call('ZSCORE', key, id)
    return expires and math.abs(tonumber(expires)) > now
  end

  local function judge(step, key)
    local op = step.op
    if op == RESET then
      return true
    end
    count(step, key)
    if op == PUT then
      return step.held > 0 and holds(key, step.id)
    end
    return step.critical or (step.ordinary < step.open and step.held < step.limit) or holds(key, step.id)
  end

  -- Shortens leases that end later than any lease can.
  local function cut(step, key)
    local last = step.last
    for _, id in ipairs(call('ZRANGEBYSCORE', key, '(' .. horizon, '+inf')) do
      call('ZADD', key, last, id)
    end
    for _, id in ipairs(call('ZRANGEBYSCORE', key, '-inf', '(-' .. horizon)) do
      call('ZADD', key, '-' .. last, id)
    end
  end

  local function hold(step, key)
    if step.dead then
      call('ZREMRANGEBYSCORE', key, -now, now)
    end
    if step.cut then
      cut(step, key)
    end
    local last = step.last
    if call('ZADD', key, step.critical and '-' .. last or last, step.id) == 0 then
      count(step, key) -- renewed: it may have become critical, or no longer be
    elseif step.critical then
      step.held = step.held + 1
    else
      step.held, step.ordinary = step.held + 1, step.ordinary + 1
    end
    -- Twice the length of a lease, so that most leases need not extend the expiry of the key.
    local ms = tonumber(lifetime(step.length))
    if call('PTTL', key) < ms then
      call('PEXPIRE', key, format('%d', 2 * ms))
    end
  end

  local function apply(step, key, go)
    local op, passes = step.op, step.passes
    if op == RESET then
      call('DEL', key)
      step.held, step.ordinary = 0, 0
    elseif op == PUT then
      if passes then
        call('ZREM', key, step.id)
        count(step, key)
      end
    elseif passes and step.id ~= '' and (op == RECORD or (op <= SHADOW and go)) then
      hold(step, key)
    elseif step.cut and op <= SHADOW and step.id ~= '' then
      cut(step, key)
    end
    reply[reply_size + 1] = step.held * 2 + (passes and 1 or 0)
    reply[reply_size + 2] = step.held - step.ordinary
    reply_size = reply_size + 2
  end

  return function(op)
    local critical, limit, open, length = number() == 1, number(), number(), number()
    -- All fields are set at once, because a table that grows later is reallocated.
    return {
      op = op, judge = judge, apply = apply, passes = false,
      critical = critical, limit = limit, open = open, length = length, last = format('%d', now + length),
      named = true, again = false, id = '', ordinary = 0, held = 0, dead = false, cut = false,
    }
  end
end
