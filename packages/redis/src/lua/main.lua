-- The last part: decides the groups that the fast paths have left, with any steps. Each group is all or nothing.
--
-- Uses: `reply`, `reply_size`, `arg_index`, `keys_done`, `is_late` (head.lua); `number`, `match`, `max`, `TAKE`,
-- `PUT`, `RECORD`, `DONE`, `NO_PUT` (shared.lua); `make` (script.ts), which creates the reader of an algorithm by its
-- letter.
-- Returns the reply.

local readers = {}

local function reader_of(letter)
  local reader = readers[letter]
  if not reader then
    reader = make(letter)
    readers[letter] = reader
  end
  return reader
end

-- First judges every step on the state before the group, then applies all of them: takes are charged only if no step
-- rejects. Steps of one group can share a key only if they renew or end permits or claims. These steps are judged
-- again, after the steps before them. Takes that start together are judged again, too: each has its own earliest start
-- (`start`), and all takes of a key get the latest of these (`from`).
local function decide(steps, count)
  local go, seen, starts, counts = true, nil, nil, nil
  for i = 1, count do
    local step, key = steps[i], KEYS[keys_done + i]
    step.from = 0
    step.passes = step.judge(step, key)
    if step.wait then
      local tag = match(key, '{.-}')
      starts, counts = starts or {}, counts or {}
      starts[tag], counts[tag] = max(starts[tag] or 0, step.start), (counts[tag] or 0) + 1
    end
    if count > 1 and step.named then
      seen = seen or {}
      step.again = seen[key] or false
      seen[key] = true
    end
  end
  for i = 1, count do
    local step, key = steps[i], KEYS[keys_done + i]
    local tag = step.wait and match(key, '{.-}')
    if tag and counts[tag] > 1 then
      step.from = starts[tag]
      step.passes = step.judge(step, key)
    end
    if step.op == TAKE and not step.passes then
      go = false
    end
  end
  for i = 1, count do
    local step, key = steps[i], KEYS[keys_done + i]
    if step.again then
      step.passes = step.judge(step, key)
    end
    step.apply(step, key, go)
  end
end

while keys_done < #KEYS do
  local groups, count = number(), number()
  local steps, named, ends = {}, {}, true
  for i = 1, count do
    arg_index = arg_index + 1
    local read = reader_of(ARGV[arg_index])
    local step = read(number())
    steps[i] = step
    local op = step.op
    ends = ends and (op == PUT or op == DONE or op == NO_PUT or (op == RECORD and step.settles))
    if step.named then
      named[#named + 1] = step
    end
  end
  for _ = 1, groups do
    -- Groups of one run differ only in their keys and in these ids.
    for i = 1, #named do
      arg_index = arg_index + 1
      named[i].id = ARGV[arg_index]
    end
    local start = reply_size
    local ok, fault = false, 'late'
    if ends or not is_late then
      ok, fault = pcall(decide, steps, count)
    end
    if not ok then
      for i = start + 2, reply_size do
        reply[i] = nil
      end
      reply_size = start + 1
      reply[reply_size] = '!' .. (type(fault) == 'table' and fault.err or fault)
    end
    keys_done = keys_done + count
  end
end
return reply
