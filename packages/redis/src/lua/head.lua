-- What all parts share. `now` and `lifetime` come from the clock, which is put in front of this.
--
-- KEYS: one for each step of each group. ARGV: the instant after which nothing is taken any more (0: none); then runs
-- of groups of one shape: how many groups, how many steps each, and for each step its machine, operation and numbers;
-- then for each group the ids of the leases that its steps name, empty for none.
-- Reply: now; then for each group the numbers of its steps (see settle in each machine), or one text that begins with
-- `!`: an error, or `!late` for a group that came after the instant above, unless it only gives back.

local call, format, match = redis.call, string.format, string.match
local CORRUPT = 'the stored value is not one of this format'

-- The reply: integers only, flat; `size` of them so far. `at` is the argument read last, `before` counts the keys done.
local reply, size, at, before = { now }, 1, 1, 0

local deadline = tonumber(ARGV[1])
local late = deadline > 0 and now > deadline
