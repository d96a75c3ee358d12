-- If there is no value, GET returns false, which is a nil reply.
return redis.call('GET', KEYS[1])
