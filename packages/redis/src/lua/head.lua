-- The first part of the script, used by all others. codec/script.ts assembles the parts.
--
-- Uses: `now` (microseconds), and `tick` and `spare`, which script.ts defines: a key that is needed for n microseconds
-- gets an expiry of n / `tick` + `spare` milliseconds, truncated.
-- Defines: `KEYS` and `ARGV` (reading a local is faster), `try`, `format`, `CORRUPT`, `reply`, `reply_size`,
-- `arg_index`, `keys_done`, `is_late`.
--
-- Every call pays for what is created here, so this part has only what the most common calls need. Arithmetic converts
-- an argument to a number in half the time of `tonumber`. Commands get large numbers as text: Redis 6.2 and 7.0 format
-- numbers slowly, and 7.2.0 to 7.2.4 write 200000000 as 2e+8, which no command accepts as an integer.
--
-- KEYS: one for each step of each group.
-- ARGV: the deadline, after which nothing is taken (0: none). Then come runs of groups that differ only in keys and
-- ids. A run has the number of groups, the number of steps in each, and for each step the letter of its algorithm, its
-- operation and its numbers. Then follow, for each group, the ids in its steps (of leases and claims, or the items of
-- distinct limits; an empty text for none). If the call is one run of takes of one bucket each, only the numbers follow
-- the deadline: see algorithms/bucket/takes.lua.
-- Reply: now. Then for each group the words of its steps (see `apply` in each algorithm), or one text that begins with
-- `!`: an error, or `!late` if the group came after the deadline. A group is never late if it has only PUT, DONE,
-- NO_PUT, or RECORD under rules with debt.

local KEYS, ARGV = KEYS, ARGV
local try, format = redis.pcall, string.format
local CORRUPT = 'the stored value is not one of this format'

-- The reply is a flat list of length `reply_size`. It is created with two elements, because a table that grows is
-- reallocated. `arg_index` is the index of the last argument read, and `keys_done` counts the keys of decided groups.
local reply, reply_size, arg_index, keys_done = { now, false }, 1, 1, 0

local deadline = ARGV[1] + 0
local is_late = deadline > 0 and now > deadline
