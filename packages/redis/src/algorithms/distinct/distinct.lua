-- Limits on distinct items of a key. See docs/algorithms.md. The same algorithm in TypeScript:
-- packages/core/src/algorithms/distinct.ts.
--
-- Uses: `now`, `CORRUPT`, `reply`, `reply_size` (head.lua); `call`, `floor`, `max`, `min`, `lifetime`, `number` and
-- the operations (shared.lua). Defines: `distinct`.
--
-- Stored, format 1: a string, `1` and the items, the oldest first. Each item has 16 bytes of fingerprint, then 7 bytes
-- with the time at which it was added, the high byte first. The first bit of the time is set if the item was repeated.

local function distinct()
  local byte, char, find, sub = string.byte, string.char, string.find, string.sub
  local WIDTH, MOST = 23, 100

  -- The time of the item that begins after byte `at`, and whether the item was repeated.
  local function time_at(text, at)
    local a, b, c, d, e, f, g = byte(text, at + 17, at + WIDTH)
    return (((((a % 128 * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) * 256 + g, a > 127
  end

  local function time_of(us, shared)
    local bytes = ''
    for _ = 1, 6 do
      bytes = char(us % 256) .. bytes
      us = floor(us / 256)
    end
    return char(us + (shared and 128 or 0)) .. bytes
  end

  local function last_of(text)
    return #text > 1 and time_at(text, #text - WIDTH) or 0
  end

  -- Finds the items of the step: the positions of the `known` ones, and the text of those to be `added`. A position is
  -- that of the byte before an item.
  local function search(step)
    local text, known, added = step.text, {}, ''
    step.last = last_of(text)
    local time = time_of(max(now, step.last))
    step.places = {}
    for i = 1, #step.items, 16 do
      local item, at = sub(step.items, i, i + 15), 1
      repeat -- the bytes of two neighboring items may contain those of a third
        at = find(text, item, at + 1, true)
      until not at or at % WIDTH == 2
      if not at then
        added = added .. item .. time
      else
        step.places[at - 1], known[#known + 1] = true, at - 1
      end
    end
    step.known, step.added, step.fresh, step.used = known, added, #added / WIDTH, (#text - 1) / WIDTH
  end

  local function read(step, key)
    local text, at = call('GET', key) or '1', 1
    if byte(text) ~= 49 or #text % WIDTH ~= 1 then
      error(CORRUPT)
    end
    while at < #text and time_at(text, at) <= now - step.window do
      at = at + WIDTH
    end
    if at > 1 then -- a copy of a long list takes as long as the rest
      text = '1' .. sub(text, at + 1)
    end
    step.cut = last_of(text) > now + step.window
    if step.cut then -- the clock went back: all items that count are dated now
      local items = { '1' }
      for from = 1, #text - 1, WIDTH do
        local _, shared = time_at(text, from)
        items[#items + 1] = sub(text, from + 1, from + 16) .. time_of(now, shared)
      end
      text = table.concat(items)
    end
    step.text, step.count = text, #step.id / 32
    step.items = string.gsub(step.id, '..', function(hex)
      return char(tonumber(hex, 16))
    end)
    search(step)
  end

  -- Returns the text after the step. A PUT removes up to `step.give` items that this request added and no other has
  -- repeated. Any other step marks its known items as repeated. The text is built once, because building it anew for
  -- each item took Redis 90 ms instead of 2.5 ms.
  local function edited(step)
    local text, places, pieces, from = step.text, {}, {}, 1
    for i = 1, #step.known do
      local us, shared = time_at(text, step.known[i])
      if not shared and (step.op ~= PUT or (us == step.at and #places < step.give)) then
        places[#places + 1] = step.known[i]
      end
    end
    table.sort(places)
    for i = 1, #places do
      local at = places[i]
      pieces[i] = sub(text, from, at)
      if step.op ~= PUT then
        pieces[i] = pieces[i] .. sub(text, at + 1, at + 16) .. time_of(time_at(text, at), true)
      end
      from = at + WIDTH + 1
    end
    return from > 1 and table.concat(pieces) .. sub(text, from) or text
  end

  local function judge(step, key)
    if step.op == RESET then
      return true
    end
    read(step, key)
    if step.op == PUT then
      return #edited(step) < #step.text
    end
    return step.count <= MOST and (step.fresh == 0 or step.used + step.fresh <= step.limit)
  end

  -- Returns the time of the item that must expire before the new ones pass; -1 if they pass now, or never. The expiry
  -- of items of this step frees nothing, because the step would add them again.
  local function frees(step)
    local over = step.used + step.fresh - step.limit
    if step.fresh > 0 and over > 0 and step.count <= min(step.limit, MOST) then
      for at = 1, #step.text - 1, WIDTH do
        over = over - (step.places[at] and 0 or 1)
        if over == 0 then
          return (time_at(step.text, at))
        end
      end
    end
    return -1
  end

  return function(op)
    local limit, window, at, give = number(), number(), 0, 0
    if op == PUT then
      at, give = number(), number()
    end
    return {
      op = op, judge = judge, passes = false, named = true, id = '', limit = limit, window = window, at = at, give = give,
      text = '1', items = '',
      apply = function(step, key, go)
        local before, passes = step.text, step.passes
        local write = op == RESET or (step.cut and op <= SHADOW)
        if op == PUT and passes then
          step.text = edited(step)
        elseif op == RECORD or (op <= SHADOW and passes and go) then
          local text = edited(step) .. step.added
          local over = (#text - 1) / WIDTH - max(limit, step.used) -- above 0 only when recording
          step.text = over > 0 and '1' .. sub(text, over * WIDTH + 2) or text
        end
        if write or step.text ~= before then
          search(step)
          if step.used > 0 then
            call('SET', key, step.text, 'PX', lifetime(step.last + window - now))
          else
            call('DEL', key)
          end
        end
        reply[reply_size + 1] = step.used * 2 + (passes and 1 or 0)
        reply[reply_size + 2] = frees(step)
        reply[reply_size + 3] = step.last
        reply_size = reply_size + 3
      end,
    }
  end
end
