-- The first part of the script (codec/script.ts puts the parts together): what all other parts use.
--
-- Takes: `now` (microseconds) and `lifetime` (microseconds to the milliseconds of PX), which script.ts puts in front.
-- Gives: `call`, `format`, `match`, `CORRUPT`, `reply`, `reply_size`, `arg_index`, `keys_done`, `is_late`.
--
-- KEYS: one for each step of each group.
-- ARGV: the deadline, after which nothing is taken (0: none). Then runs of groups that differ only in keys and ids:
-- how many groups, how many steps each has, and for each step the letter of its algorithm, its operation and its
-- numbers. Of a group with several branches, the operation also tells the branch of the step: ten times its place among
-- them, from 1 on, is added. Then for each group the ids that its steps name, of leases and claims; an empty text for
-- none.
-- Reply: now. Then for each group the words of its steps (see `apply` in each algorithm), or one text that begins
-- with `!`: an error, or `!late` for a group that came after the deadline. A group that only ends something (PUT, DONE,
-- NO_PUT) is never late.

local call, format, match = redis.call, string.format, string.match
local CORRUPT = 'the stored value is not one of this format'

-- The reply is a flat list, `reply_size` long so far. `arg_index` is the index of the argument that was read last, and
-- `keys_done` counts the keys of the groups that are done.
local reply, reply_size, arg_index, keys_done = { now }, 1, 1, 0

local deadline = tonumber(ARGV[1])
local is_late = deadline > 0 and now > deadline
