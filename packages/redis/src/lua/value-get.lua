-- Reads a value. KEYS: its name. Returns false, a nil reply, if there is none.
return redis.call('GET', KEYS[1])
