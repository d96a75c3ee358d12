-- Decides what is left, any groups of any steps, each group all or nothing.

local makers = { g = gcra, w = window, l = log, p = leases }
local machines = {}

-- Made when first needed: to make all of them costs as much as a decision.
local function machine_of(letter)
  local machine = machines[letter]
  if not machine then
    machine = makers[letter]()
    machines[letter] = machine
  end
  return machine
end

-- Every step is judged on the state before; then all are written.
local function decide(steps, count)
  local go = true
  for i = 1, count do
    local step = steps[i]
    local passes = step.judge(step, KEYS[before + i])
    step.passes = passes
    if not passes and step.op == TAKE then
      go = false
    end
  end
  for i = 1, count do
    local step = steps[i]
    step.settle(step, KEYS[before + i], go)
  end
end

while before < #KEYS do
  local groups, count = number(), number()
  local steps, named = {}, {}
  for i = 1, count do
    at = at + 1
    local machine = machine_of(ARGV[at])
    local step = { op = number(), judge = machine.judge, settle = machine.settle }
    machine.new(step)
    steps[i] = step
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
    local ok, fault = pcall(decide, steps, count)
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
