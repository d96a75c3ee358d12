-- The first part of the script (codec/script.ts puts the parts together): what all other parts use.
--
-- Takes: `now` (microseconds), and `tick` and `spare`, which script.ts puts in front: a key that is needed for so many
-- microseconds lives that many / `tick` + `spare` milliseconds, cut to an integer.
-- Gives: `KEYS` and `ARGV` (as locals they are read faster), `try`, `format`, `CORRUPT`, `reply`, `reply_size`,
-- `arg_index`, `keys_done`, `is_late`.
--
-- What is made or looked up here is paid for by every call, so it is only what the most common calls use. Arithmetic
-- reads a number from an argument in half the time of `tonumber`. Commands get large numbers as texts: Redis 6.2 and
-- 7.0 take long to write a number, and 7.2.0 to 7.2.4 write 200000000 as 2e+8, which no command reads as an integer.
--
-- KEYS: one for each step of each group.
-- ARGV: the deadline, after which nothing is taken (0: none). Then runs of groups that differ only in keys and ids:
-- how many groups, how many steps each has, and for each step the letter of its algorithm, its operation and its
-- numbers. Then for each group the ids that its steps name, of leases and claims; an empty text for none. Of a call
-- that is one run of takes of one bucket each, only the numbers follow the deadline: see algorithms/bucket/takes.lua.
-- Reply: now. Then for each group the words of its steps (see `apply` in each algorithm), or one text that begins
-- with `!`: an error, or `!late` for a group that came after the deadline. A group that only ends something (PUT, DONE,
-- NO_PUT) is never late.

local KEYS, ARGV = KEYS, ARGV
local try, format = redis.pcall, string.format
local CORRUPT = 'the stored value is not one of this format'

-- The reply is a flat list, `reply_size` long so far; a second place at once, because a table that grows is allocated
-- again. `arg_index` is the index of the argument that was read last, and `keys_done` counts the keys of the groups
-- that are done.
local reply, reply_size, arg_index, keys_done = { now, false }, 1, 1, 0

local deadline = ARGV[1] + 0
local is_late = deadline > 0 and now > deadline
