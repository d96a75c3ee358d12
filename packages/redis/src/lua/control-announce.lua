-- Stores limiters with their items (codes, declared numbers, marks), each with an expiry. An item that another process
-- has stored with a later expiry keeps it.
--
-- KEYS: limiters (hash).
-- ARGV: the maximum number of limiters, and of codes per limiter; then for each limiter its name, the number of items,
-- and for each item its text and how long it is kept in milliseconds. An item that does not begin with `{` (declared
-- numbers) or `!` (a mark) is a code.
-- Stored, format 1: `1`, then for each item ` text until`, latest expiry first, where `until` is the expiry in
-- milliseconds since the epoch. Texts of a later format are not changed.
-- Reply: how many limiters were not stored, because the list is full or their text has a later format.

local call, format = redis.call, string.format
local time = call('TIME')
local now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000

-- The unexpired items of a stored text; nil if there are none, false if the text is of a later format.
local function read(text)
  if text:sub(1, 2) ~= '1 ' then
    return false
  end
  local items
  for item, till in text:gmatch(' (%S+) (%d+)') do
    if tonumber(till) > now then
      items = items or {}
      items[item] = tonumber(till)
    end
  end
  return items
end

local function write(name, items)
  local names = {}
  for item in pairs(items) do
    names[#names + 1] = item
  end
  table.sort(names, function(a, b)
    return items[a] > items[b] or (items[a] == items[b] and a < b)
  end)
  local parts, codes, marks, most = { '1' }, 0, 0, tonumber(ARGV[2])
  for _, item in ipairs(names) do
    local marked = item:find('^[{!]')
    if marked then
      marks = marks + 1
    else
      codes = codes + 1
    end
    if (marked and marks or codes) <= most then
      parts[#parts + 1] = item .. format(' %.0f', items[item])
    end
  end
  call('HSET', KEYS[1], name, table.concat(parts, ' '))
end

local known, count = {}, 0
local stored = call('HGETALL', KEYS[1])
for i = 1, #stored, 2 do
  local items = read(stored[i + 1])
  if items == nil then
    call('HDEL', KEYS[1], stored[i])
  else
    known[stored[i]] = items
    count = count + 1
  end
end

local at, refused = 3, 0
while at < #ARGV do
  local name, last = ARGV[at], at + 1 + 2 * ARGV[at + 1]
  local items = known[name]
  if items == nil and count < tonumber(ARGV[1]) then
    items = {}
    count = count + 1
  end
  if items then
    for i = at + 2, last, 2 do
      items[ARGV[i]] = math.max(items[ARGV[i]] or 0, now + ARGV[i + 1])
    end
    write(name, items)
  else
    refused = refused + 1
  end
  at = last + 1
end
return refused
