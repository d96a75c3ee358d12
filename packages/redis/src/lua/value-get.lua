-- The text that is kept under a name. KEYS: the name. Returns false, which is a nil reply, if nothing is.
return redis.call('GET', KEYS[1])
