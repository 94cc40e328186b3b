-- KEYS[1] is the hash of facts; ARGV are a name and a value. Answers the value that is kept.

redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], ARGV[1])
