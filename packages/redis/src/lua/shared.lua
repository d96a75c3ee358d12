-- What the algorithms need in addition to head.lua. It follows the fast paths (bucket/takes.lua and queue/takes.lua),
-- which often return before it is needed.
--
-- Uses: `format`, `arg_index`, `tick`, `spare`.
-- Defines: `call`, `match`, `floor`, `max`, `min`, the numbers of the operations, `number` (reads the next argument),
-- `lifetime` (converts microseconds to the milliseconds of PX, as text).

local call, match = redis.call, string.match
local floor, max, min = math.floor, math.max, math.min

-- Operations, numbered as in algorithms/codec.ts. TAKE and SHADOW are takes: `op <= SHADOW`. A SHADOW never rejects its
-- group. TOGETHER is a TAKE that starts with others of its group. NO_PUT is a PUT that refunds nothing; it is judged
-- like a look.
local TOGETHER, TAKE, SHADOW, RECORD, PUT, RESET, HOLD, DONE, NO_PUT = 0, 1, 2, 3, 5, 6, 7, 8, 9

local function number()
  arg_index = arg_index + 1
  return tonumber(ARGV[arg_index])
end

local function lifetime(us)
  return format('%d', us / tick + spare)
end
