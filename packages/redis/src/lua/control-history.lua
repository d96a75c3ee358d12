-- Reads the history, latest first. KEYS: history (list).

return redis.call('LRANGE', KEYS[1], 0, -1)
