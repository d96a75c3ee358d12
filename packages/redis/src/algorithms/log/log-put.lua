-- Refunds units of a sliding window log. log.lua creates these functions only when a step needs them, because that
-- takes as long as reading a log.
--
-- Uses: `now` (head.lua); `call`, `min` (shared.lua); the other functions come from log.lua as arguments. Defines:
-- `log_put`.

local function log_put(decode, encode, element, index_of, head_of, begin, write, CHUNK)
  local WIDTH, WRAP = 11, 4294967296
  local byte, char, sub = string.byte, string.char, string.sub

  local function shift(text, from, to, by)
    local parts, n = {}, 0
    for at = from, to - WIDTH, WIDTH do
      local a, b, c, d, e, f, g, h, i, j, k = byte(text, at + 1, at + 11)
      local count = (((h * 256 + i) * 256 + j) * 256 + k + by) % WRAP
      k = count % 256
      count = (count - k) / 256
      j = count % 256
      count = (count - j) / 256
      i = count % 256
      n = n + 1
      parts[n] = char(a, b, c, d, e, f, g, (count - i) / 256, i, j, k)
    end
    return table.concat(parts)
  end

  -- Returns the number by which the counts of a chunk are too low.
  local function off_by(index, chunk, text)
    if text == '' then
      return 0
    end
    local _, right = decode(index, chunk * WIDTH - WIDTH)
    local _, count = decode(text, #text - WIDTH)
    return right - count
  end

  -- Merges the last chunk, whose remaining records are `text`, into the tail.
  local function reopen(step, key, index, text, entries)
    call('LTRIM', key, 0, -4)
    step.index, step.chunked = nil, #index > WIDTH
    if step.chunked then
      step.index = sub(index, 1, -WIDTH - 1)
      call('RPUSH', key, step.index)
    end
    local opened = shift(text, 0, #text, off_by(index, #index / WIDTH, text)) .. entries
    write(step, key, 'RPUSH', head_of(step), opened)
  end

  -- Joins this chunk with the next. Returns the index, which then has one record less.
  local function join(key, index, chunk, text, next)
    local off = off_by(index, chunk, text) - off_by(index, chunk + 1, next)
    call('LSET', key, chunk, shift(text, 0, #text, off) .. next)
    call('LSET', key, chunk - 1, '')
    call('LREM', key, 1, '')
    return sub(index, 1, chunk * WIDTH - WIDTH) .. sub(index, chunk * WIDTH + 1)
  end

  -- Stores a chunk that has shrunk. If it is at most half full and fits into one chunk with a neighbor, joins the two.
  -- So of two neighbors one is always more than half full, and the index stays short.
  local function store(step, key, index, chunk, text, entries)
    local room, last = CHUNK * WIDTH - #text, #index / WIDTH
    local next, previous
    if room * 2 >= CHUNK * WIDTH then
      next = chunk < last and element(key, chunk) or entries
      previous = chunk > 1 and element(key, chunk - 2)
    end
    if next and #next <= room then
      if chunk == last then
        return reopen(step, key, index, text, entries)
      end
      index = join(key, index, chunk, text, next)
    elseif previous and #previous <= room then
      index = join(key, index, chunk - 1, previous, text)
    else
      call('LSET', key, chunk - 1, text)
    end
    call('LSET', key, -2, index)
    step.index = index
    write(step, key, 'LSET', head_of(step), entries)
  end

  -- Takes units from an entry of a chunk. Only differences of counts matter, so it lowers all counts after the entry or
  -- raises all counts before it, whichever are fewer.
  local function take_from_chunk(step, key, units, keep)
    local chunk, index = step.put_chunk, index_of(step, key)
    local text, open = element(key, chunk - 1), step.open
    local from, here = chunk * WIDTH - WIDTH, step.put_skip * WIDTH
    local entries = sub(step.tail, open + 1)
    local _, count = decode(index, from)
    local before, after
    if chunk * 2 * WIDTH > #index then
      text = sub(text, 1, here) .. shift(text, here + keep, #text, -units)
      before, after = sub(index, 1, from), shift(index, from + WIDTH, #index, -units)
      entries, count = shift(entries, 0, #entries, -units), count - units
    else
      text = shift(text, 0, here, units) .. sub(text, here + keep + 1)
      before, after = shift(index, 0, from, units), sub(index, from + WIDTH + 1)
      step.gone = (step.gone + units) % WRAP
    end
    local ends = text == '' and 0 or decode(text, #text - WIDTH)
    store(step, key, before .. encode(ends, count % WRAP) .. after, chunk, text, entries)
  end

  return function(step, key)
    local units = min(step.give, step.units)
    local keep = units == step.units and WIDTH or 0 -- an entry without units is removed
    step.used = step.used - units
    if step.used == 0 then
      call('DEL', key)
    elseif step.cut then
      begin(step, key, now, step.used)
    elseif step.put_chunk > 0 then
      take_from_chunk(step, key, units, keep)
    else
      local tail, here = step.tail, step.open + step.put_skip * WIDTH
      local entries = sub(tail, step.open + 1, here) .. shift(tail, here + keep, #tail, -units)
      if entries == '' then
        local index, text = index_of(step, key), element(key, -3)
        step.last = decode(text, #text - WIDTH)
        return reopen(step, key, index, text, entries)
      end
      step.last = decode(entries, #entries - WIDTH)
      write(step, key, 'LSET', head_of(step), entries)
    end
  end
end
