-- The sliding window log (docs/algorithms.md; twin: packages/core/src/machines/log.ts).
--
-- Stored, format 1: a list of entries, oldest first, `us` (one unit) or `us:cost`; its last element is the total of all
-- units in it, so that the two ends of the list tell all that a decision needs.

local function log()
  local function encode(us, cost)
    if cost == 1 then
      return format('%d', us)
    end
    return format('%d:%d', us, cost)
  end

  local function decode(text)
    local us, cost = match(text, '^(%d+):?(%d*)$')
    if not us then
      error(CORRUPT)
    end
    return tonumber(us), cost == '' and 1 or tonumber(cost)
  end

  -- Walks from the entry at `index` until `done(us, cost)`. Whoever walks knows by the total that there is such an entry.
  local function walk(key, index, done)
    local chunk = 4
    while true do
      local part = call('LRANGE', key, index, index + chunk - 1)
      for i = 1, #part do
        local us, cost = decode(part[i])
        if done(us, cost) then
          return us, index + i - 1
        end
      end
      if #part < chunk then
        error(CORRUPT)
      end
      index, chunk = index + chunk, min(chunk * 4, 1024)
    end
  end

  -- What a step needs of the list: `dead` expired entries of `gone` units at its head, `used` live units.
  local function read(step, key)
    local ends = call('LRANGE', key, -2, -1)
    step.dead, step.gone, step.used, step.total, step.last = 0, 0, 0, 0, 0
    step.cut, step.exists = false, #ends > 0
    if not step.exists then
      return
    end
    if #ends < 2 or not match(ends[2], '^%d+$') then
      error(CORRUPT)
    end
    local since = now - step.window
    step.last = decode(ends[1])
    step.total = tonumber(ends[2])
    if step.last <= since then
      step.dead, step.gone = -1, step.total -- all of them
      return
    end
    local _, first = walk(key, 0, function(us, cost)
      if us > since then
        return true
      end
      step.gone = step.gone + cost
      return false
    end)
    step.dead, step.used = first, step.total - step.gone
    step.cut = step.last > now + step.window -- the clock went back: all live units count as one entry of now
    if step.cut then
      step.last = now
    end
  end

  local function judge(step, key)
    if step.op == RESET then
      return true
    end
    read(step, key)
    if step.op == PUT then
      if step.cut then
        return step.at == now and step.cost == step.used
      end
      if step.at <= now - step.window then
        return false
      end
      return step.exists and call('LPOS', key, encode(step.at, step.cost)) ~= false
    end
    return step.used + step.cost <= step.limit
  end

  local function expire(step, key)
    call('PEXPIRE', key, lifetime(step.last + step.window - now))
  end

  -- Replaces a state that the clock made impossible by its one entry.
  local function repair(step, key)
    call('DEL', key)
    call('RPUSH', key, encode(now, step.used), format('%d', step.used))
    step.cut, step.dead, step.gone, step.total = false, 0, 0, step.used
    expire(step, key)
  end

  local function drop_oldest(step, key)
    local over = step.used - step.limit
    while over > 0 do
      local us, cost = decode(call('LINDEX', key, 0))
      if cost > over then
        call('LSET', key, 0, encode(us, cost - over))
      else
        call('LPOP', key)
      end
      over = over - cost
    end
    step.used = min(step.used, step.limit)
    call('LSET', key, -1, format('%d', step.used))
  end

  local function append(step, key)
    if step.cut then
      repair(step, key)
    end
    if step.dead < 0 then
      call('DEL', key)
      step.exists = false
    elseif step.dead > 0 then
      call('LPOP', key, step.dead)
    end
    step.dead = 0
    local cost = min(step.cost, step.limit)
    step.last = max(now, step.last)
    step.used = step.used + cost
    local entry, total = encode(step.last, cost), format('%d', step.used)
    if step.exists then
      call('LSET', key, -1, entry) -- in the place of the old total
      call('RPUSH', key, total)
    else
      call('RPUSH', key, entry, total)
      step.exists = true
    end
    if step.op == RECORD and step.used > step.limit then
      drop_oldest(step, key)
    end
    expire(step, key)
  end

  local function put(step, key)
    if step.cut or step.total == step.cost then
      call('DEL', key)
      step.used, step.exists, step.cut = 0, false, false
      return
    end
    call('LREM', key, -1, encode(step.at, step.cost))
    call('LSET', key, -1, format('%d', step.total - step.cost))
    step.used = step.used - step.cost
    step.last = decode(call('LINDEX', key, -2))
    expire(step, key)
  end

  local function settle(step, key, go)
    local op, passes = step.op, step.passes
    if op == RESET then
      call('DEL', key)
      step.used, step.last = 0, 0
    elseif op == RECORD or (op <= SHADOW and passes and go) then
      append(step, key)
    elseif op == PUT and passes then
      put(step, key)
    elseif step.cut and op <= SHADOW then
      repair(step, key)
    end
    local excess, frees = step.used + step.cost - step.limit, 0
    if op ~= RESET and excess > 0 and step.cost <= step.limit and step.used > 0 then
      if step.cut then
        frees = now
      else
        frees = walk(key, step.dead, function(_, cost)
          excess = excess - cost
          return excess <= 0
        end)
      end
    end
    reply[size + 1] = step.used * 2 + (passes and 1 or 0)
    reply[size + 2] = frees
    reply[size + 3] = step.used > 0 and step.last or 0
    size = size + 3
  end

  return function(op)
    local cost, limit, length = number(), number(), number()
    return {
      op = op, judge = judge, settle = settle, passes = false,
      cost = cost, limit = limit, window = length, at = op == PUT and number() or 0,
      dead = 0, gone = 0, used = 0, total = 0, last = 0, cut = false, exists = false,
    }
  end
end
