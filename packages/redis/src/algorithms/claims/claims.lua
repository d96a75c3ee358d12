-- Claims. See docs/algorithms.md. The same algorithm in TypeScript: packages/core/src/algorithms/claims.ts.
--
-- Uses: `now`, `format`, `CORRUPT`, `reply`, `reply_size` (head.lua); `call`, `match`, `lifetime`, `number` and the
-- operations (shared.lua). Defines: `claims`.
--
-- Stored, format 1: a string of the end in microseconds, `r` (running) or `d` (done), the owner (16 characters), and
-- the note. The id of a step is its owner, followed by the note for DONE.

local function claims()
  local MAX_LEASE, MAX_KEEP = 86400000000, 34560000000000
  local FREE, RUNNING, KEPT = 0, 1, 2
  local sub = string.sub

  -- Sets the state that the rule sees, and returns whether the claim belongs to the owner `me`. A claim that ends later
  -- than any claim can was made before the clock went back, and is shortened.
  local function view(step, text, me)
    local ends, letter, rest = match(text, '^(%d+)([rd])([ -~]*)$')
    local runs, size = letter == 'r', #(rest or '')
    local owner = sub(rest or '', 1, 16)
    -- An invalid owner or note would corrupt the reply, and with it the answers to other groups.
    if size < 16 or size > (runs and 16 or 272) or (owner ~= me and match(owner, '[^%w_-]')) then
      error(CORRUPT)
    end
    ends = tonumber(ends)
    if ends <= now then
      return false
    end
    if ends > now + (runs and MAX_LEASE or MAX_KEEP) then
      ends, step.cut = now + (runs and step.lease or step.keep), true
    end
    step.state, step.ends, step.owner, step.note = runs and RUNNING or KEPT, ends, owner, sub(rest, 17)
    return owner == me
  end

  local function judge(step, key)
    local op = step.op
    step.state, step.cut = FREE, false
    if op == RESET then
      return true
    end
    local text = call('GET', key)
    local own = text and view(step, text, sub(step.id, 1, 16))
    if op == PUT then
      return own and step.state == RUNNING
    end
    return step.state == FREE or (own and (step.state == RUNNING or op == DONE))
  end

  local function write(step, key)
    local letter = step.state == RUNNING and 'r' or 'd'
    call('SET', key, format('%d', step.ends) .. letter .. step.owner .. step.note, 'PX', lifetime(step.ends - now))
  end

  local function apply(step, key, go)
    local op, passes = step.op, step.passes
    if op == RESET or (op == PUT and passes) then
      call('DEL', key)
      step.state = FREE
    elseif op == DONE then
      if passes and step.state ~= KEPT then
        step.state, step.ends, step.owner, step.note = KEPT, now + step.keep, sub(step.id, 1, 16), sub(step.id, 17)
        write(step, key)
      end
    elseif passes and (op == RECORD or (op <= SHADOW and go)) then
      step.state, step.ends, step.owner, step.note = RUNNING, now + step.lease, sub(step.id, 1, 16), ''
      write(step, key)
    elseif step.cut and op <= SHADOW then
      write(step, key)
    end
    reply_size = reply_size + 1
    reply[reply_size] = step.state * 2 + (passes and 1 or 0)
    if step.state ~= FREE then
      reply[reply_size + 1] = step.ends - now
      -- The letter keeps clients from parsing the word as a number or JSON.
      reply[reply_size + 2] = 'k' .. step.owner .. step.note
      reply_size = reply_size + 2
    end
  end

  return function(op)
    local lease, keep = number(), number()
    return {
      op = op, judge = judge, apply = apply, passes = false, lease = lease, keep = keep,
      named = true, again = false, id = '', state = FREE, ends = 0, owner = '', note = '', cut = false,
    }
  end
end
