-- The sliding window log. See docs/algorithms.md, and docs/adr/0012 for the stored format. The same algorithm in
-- TypeScript: packages/core/src/algorithms/log/log-step.ts.
--
-- Uses: `now`, `CORRUPT`, `reply`, `reply_size` (head.lua); `call`, `lifetime`, `number`, `max`, `min` and the
-- operations (shared.lua); `log_put` (log-put.lua). Defines: `log`.
--
-- Stored, format 1: a list of texts that contain records of 11 bytes, one for each entry: its instant (7 bytes) and a
-- running count (4 bytes), the units of this entry and all before it, modulo 2^32. The texts are, in this order:
-- 1. The chunks, oldest first. Each has the records of up to 64 entries. The counts in a chunk may be wrong, all by the
--    same number; the index has the right count of its last record.
-- 2. The index, if there are chunks: the last record of each chunk.
-- 3. The tail. It begins with the mark `1`, or `2` if there are chunks. A record follows that says where counting
--    begins: older entries do not count, and neither do units up to its count. Then, if there are chunks, comes the
--    last record of the first chunk. The rest are the records of the newest entries, at least one.

local function log()
  local byte, char, sub = string.byte, string.char, string.sub
  local WIDTH, CHUNK, WRAP, HALF = 11, 64, 4294967296, 2147483648

  -- The instant and the count of the record that follows byte `at`.
  local function decode(text, at)
    local a, b, c, d, e, f, g, h, i, j, k = byte(text, at + 1, at + 11)
    return (((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) * 256 + g,
      ((h * 256 + i) * 256 + j) * 256 + k
  end

  local function encode(us, count)
    local g, k = us % 256, count % 256
    us, count = (us - g) / 256, (count - k) / 256
    local f, j = us % 256, count % 256
    us, count = (us - f) / 256, (count - j) / 256
    local e, i = us % 256, count % 256
    us, count = (us - e) / 256, (count - i) / 256
    local d = us % 256
    us = (us - d) / 256
    local c = us % 256
    us = (us - c) / 256
    local b = us % 256
    return char((us - b) / 256, b, c, d, e, f, g, count % 256, i, j, k)
  end

  -- Searches `n` records from byte `at` on for the first one that is later than `us`. If `us` is nil, for the first one
  -- whose count is at least `target`. Returns how many records precede it. Checks the first two records first, because
  -- it is usually one of them.
  local function search(text, at, n, us, target)
    local low, high, middle = 0, n, n > 2 and 1 or 0
    while low < high do
      local instant, count = decode(text, at + middle * WIDTH)
      if us and instant > us or not us and (count - target) % WRAP < HALF then
        high = middle
      else
        low = middle + 1
      end
      middle = (low + high - (low + high) % 2) / 2
    end
    return low
  end

  local function element(key, at)
    local text = call('LINDEX', key, at)
    if not text or #text % WIDTH ~= 0 then
      error(CORRUPT)
    end
    return text
  end

  local function index_of(step, key)
    step.index = step.index or element(key, -2)
    return step.index
  end

  -- Finds the text whose records include the one that `search` looks for. Returns the number of its chunk (0: the
  -- tail), the text, where its records begin, how many there are, and by how much their counts are too low.
  local function locate(step, key, us, target)
    local tail, chunk, ends = step.tail, 0, 0
    if step.chunked and search(tail, 23, 1, us, target) == 0 then
      local index, at = tail, 12
      if search(tail, 12, 1, us, target) > 0 then
        index = index_of(step, key)
        chunk = search(index, 0, #index / WIDTH, us, target)
        at = chunk * WIDTH
      end
      if at < #index then
        local text = element(key, chunk)
        local _, count = decode(index, at)
        _, ends = decode(text, #text - WIDTH)
        return chunk + 1, text, 0, #text / WIDTH, count - ends
      end
    end
    return 0, tail, step.open, step.entries, 0
  end

  -- Finds the first record that is later than `us`, or whose count is at least `target`. There must be one. Returns its
  -- instant, its count, the count before it, its chunk, and the number of records before it in the chunk.
  local function seek(step, key, us, target)
    local chunk, text, at, n, off = locate(step, key, us, target)
    local i = search(text, at, n, us, target and target - off)
    if i == n then
      error(CORRUPT)
    end
    local from, before, _ = at + i * WIDTH, step.gone, nil
    if i > 0 then
      _, before = decode(text, from - WIDTH)
      before = (before + off) % WRAP
    elseif step.chunked and chunk ~= 1 then
      local index = index_of(step, key)
      _, before = decode(index, (chunk == 0 and #index or chunk * WIDTH - WIDTH) - WIDTH)
    end
    if (before - step.gone) % WRAP >= HALF then
      before = step.gone -- counting begins within this entry, or after it
    end
    local instant, count = decode(text, from)
    return instant, (count + off) % WRAP, before, chunk, i
  end

  -- Reads the state for a step: how many units count (`used`), and where they begin. Sets every field that it uses,
  -- because one step table serves the keys of many groups.
  local function read(step, key)
    local tail = call('LINDEX', key, -1)
    step.tail, step.chunked, step.index, step.first = tail, false, nil, nil
    step.used, step.last, step.cut = 0, 0, false
    if not tail then
      return
    end
    local mark = byte(tail, 1)
    local open = mark == 50 and 23 or 12
    local entries = (#tail - open) / WIDTH
    if (mark ~= 49 and mark ~= 50) or entries < 1 or entries % 1 ~= 0 then
      error(CORRUPT)
    end
    step.open, step.entries, step.chunked = open, entries, open == 23
    step.last, step.all = decode(tail, #tail - WIDTH)
    local since = now - step.window
    if step.last <= since then
      return
    end
    step.from, step.gone = decode(tail, 1)
    step.chunk, step.skip = step.chunked and 1 or 0, 0
    if step.from <= since then
      step.from, step.first, step.gone, step.chunk, step.skip = seek(step, key, since)
    end
    step.used = (step.all - step.gone) % WRAP
    step.cut = step.last > now + step.window -- the clock went back: counted units become one entry of now
    if step.cut then
      step.last = now
    end
  end

  local function judge(step, key)
    local op = step.op
    if op == RESET then
      return true
    end
    read(step, key)
    if op ~= PUT then
      return step.used + step.cost <= step.limit
    end
    if step.used == 0 or step.at <= now - step.window or step.at > step.last then
      return false
    end
    if step.cut then
      step.units = step.at == now and step.used or 0
    else
      local us, ends, before, chunk, skip = seek(step, key, step.at - 1)
      -- Entries before the point where counting begins have no units left.
      local units = us == step.at and (ends - before) % WRAP or 0
      step.units, step.put_chunk, step.put_skip = units < HALF and units or 0, chunk, skip
    end
    return step.units > 0
  end

  -- Stores the tail: LSET replaces the last element, RPUSH appends one.
  local function write(step, key, command, head, entries)
    local tail = (head == '' and '1' or '2') .. encode(step.from, step.gone) .. head .. entries
    if command == 'RPUSH' then
      call('RPUSH', key, tail)
    else
      call('LSET', key, -1, tail)
    end
    step.tail, step.chunked, step.index, step.first = tail, head ~= '', nil, nil
    step.open = step.chunked and 23 or 12
    step.entries = #entries / WIDTH
    call('PEXPIRE', key, lifetime(step.last + step.window - now))
  end

  local function begin(step, key, us, units)
    if step.tail then
      call('DEL', key)
    end
    step.cut, step.used, step.last, step.all, step.from, step.gone = false, units, us, units, us, 0
    step.chunk, step.skip = 0, 0
    write(step, key, 'RPUSH', '', encode(us, units))
  end

  -- The last record of the first chunk, as stored in the tail.
  local function head_of(step)
    return step.index and sub(step.index, 1, WIDTH) or step.chunked and sub(step.tail, 13, 23) or ''
  end

  -- Removes chunks that no longer count and, if no chunk is left, the oldest entries of the tail. Returns the tail's
  -- remaining entries.
  local function purge(step, key)
    if step.chunk > 1 then
      call('LTRIM', key, step.chunk - 1, -1)
      step.index = sub(index_of(step, key), step.chunk * WIDTH - WIDTH + 1)
      call('LSET', key, -2, step.index)
    elseif step.chunk == 0 and step.chunked then
      call('LTRIM', key, -1, -1)
      step.chunked, step.index = false, nil
    end
    return sub(step.tail, step.open + (step.chunk == 0 and step.skip or 0) * WIDTH + 1)
  end

  -- Converts the entries of a full tail to a chunk. Returns the last record of the first chunk.
  local function close(step, key, entries)
    local head, ends = head_of(step), sub(entries, -WIDTH)
    if head == '' then
      call('LSET', key, -1, entries)
      call('RPUSH', key, ends)
      return ends
    end
    local index = index_of(step, key)
    call('LSET', key, -2, entries)
    call('LSET', key, -1, index .. ends)
    return head
  end

  local function append(step, key)
    local cost = min(step.cost, step.limit)
    local over = step.used + cost - step.limit -- above 0 only when recording
    if step.used == 0 or over >= step.used then
      return begin(step, key, step.used == 0 and now or max(now, step.last), cost)
    end
    if step.cut then
      begin(step, key, now, step.used)
    end
    if over > 0 then
      local _
      step.from, step.first, _, step.chunk, step.skip = seek(step, key, nil, step.gone + over + 1)
      step.gone, step.used = (step.gone + over) % WRAP, step.used - over
    end
    local entries, command, head = purge(step, key), 'LSET', nil
    local us, first = max(now, step.last), step.first
    if us == step.last then
      entries = sub(entries, 1, -WIDTH - 1)
    elseif #entries == CHUNK * WIDTH then
      head, command, entries = close(step, key, entries), 'RPUSH', ''
    end
    step.last, step.used, step.all = us, step.used + cost, (step.all + cost) % WRAP
    write(step, key, command, head or head_of(step), entries .. encode(us, step.all))
    step.first = first
  end

  -- The instant of the entry that must expire before the cost passes; -1 if the cost passes now, or never.
  local function frees(step, key)
    local excess = step.used + step.cost - step.limit
    if excess <= 0 or step.cost > step.limit or step.op == RESET then
      return -1
    elseif step.cut then
      return now
    elseif step.first and (step.first - step.gone) % WRAP >= excess then
      return step.from -- the first entry that counts, as found before
    end
    local us = seek(step, key, nil, step.gone + excess)
    return us
  end

  local put

  local function apply(step, key, go)
    local op, passes = step.op, step.passes
    if op == RESET then
      call('DEL', key)
    elseif op == RECORD or (op <= SHADOW and passes and go) then
      append(step, key)
    elseif op == PUT and passes then
      put = put or log_put(decode, encode, element, index_of, head_of, begin, write, CHUNK)
      put(step, key)
    elseif step.cut and op <= SHADOW then
      begin(step, key, now, step.used)
    end
    reply[reply_size + 1] = step.used * 2 + (passes and 1 or 0)
    reply[reply_size + 2] = frees(step, key)
    reply[reply_size + 3] = step.used > 0 and step.last or 0
    reply_size = reply_size + 3
  end

  return function(op)
    local cost, limit, length, at, give = number(), number(), number(), 0, 0
    if op == PUT then
      at, give = number(), number()
    end
    return {
      op = op, judge = judge, apply = apply, passes = false,
      cost = cost, limit = limit, window = length, at = at, give = give,
      used = 0, last = 0, cut = false,
      -- `read` sets these fields. They are listed here, because a table that grows later is reallocated.
      tail = false, chunked = false, index = false, first = false, open = 0, entries = 0, all = 0, from = 0, gone = 0,
      chunk = 0, skip = 0,
    }
  end
end
