-- What the machines share beside the head: made only when one of them is needed.

local floor, max, min = math.floor, math.max, math.min

-- Operations, as numbered in wire.ts: up to SHADOW is a take.
local TAKE, SHADOW, RECORD, PUT, RESET = 1, 2, 3, 5, 6

local function number()
  at = at + 1
  return tonumber(ARGV[at])
end
