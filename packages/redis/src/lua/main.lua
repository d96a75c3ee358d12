-- Decides what is left, any groups of any steps, each group all or nothing.

local makers = { g = bucket, w = window, l = log, p = leases }
local readers = {}

-- What reads a step of a machine from the arguments. Made when first needed: to make all of them costs as much as a
-- decision.
local function reader_of(letter)
  local reader = readers[letter]
  if not reader then
    reader = makers[letter]()
    readers[letter] = reader
  end
  return reader
end

-- Every step is judged on the state before; then all are written. Only of permits several may be of one key, none of
-- them a take: each of those is judged again on what the ones before it left.
local function decide(steps, count)
  local go, seen = true, nil
  for i = 1, count do
    local step, key = steps[i], KEYS[before + i]
    local passes = step.judge(step, key)
    step.passes = passes
    if not passes and step.op == TAKE then
      go = false
    end
    if count > 1 and step.named then
      seen = seen or {}
      step.again = seen[key] or false
      seen[key] = true
    end
  end
  for i = 1, count do
    local step, key = steps[i], KEYS[before + i]
    if step.again then
      step.passes = step.judge(step, key)
    end
    step.settle(step, key, go)
  end
end

while before < #KEYS do
  local groups, count = number(), number()
  local steps, named, gives = {}, {}, true
  for i = 1, count do
    at = at + 1
    local read = reader_of(ARGV[at])
    local step = read(number())
    steps[i] = step
    gives = gives and step.op == PUT
    if step.named then
      named[#named + 1] = step
    end
  end
  for _ = 1, groups do
    -- The one thing in which groups of one shape differ beside their keys.
    for i = 1, #named do
      at = at + 1
      named[i].id = ARGV[at]
    end
    local start = size
    local ok, fault = false, 'late'
    if gives or not late then
      ok, fault = pcall(decide, steps, count)
    end
    if not ok then
      for i = start + 2, size do
        reply[i] = nil
      end
      size = start + 1
      reply[size] = '!' .. (type(fault) == 'table' and fault.err or fault)
    end
    before = before + count
  end
end
return reply
