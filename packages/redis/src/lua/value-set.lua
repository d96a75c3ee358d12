-- Keeps a text for a time. KEYS: its name. ARGV: the text, and for how many milliseconds.
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
