-- Reads a value. KEYS: its name. If there is none, GET returns false, which is a nil reply.
return redis.call('GET', KEYS[1])
