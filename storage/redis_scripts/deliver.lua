-- Arguments: version, event id, mark of this call, record. Answers 1 when the event is kept by
-- this call, also when the call is a repetition; 0 when it was there.

local version, event_id, mark, record = take(), take(), take(), take()

local known = redis.call('HGET', head .. ':events', event_id)
if known then
  return string.match(known, '^%d+:([^:]*):') == mark and 1 or 0
end
local was, due, expires = unpack(redis.call('HMGET', head, 'version', 'due', 'expires'))

local seq = redis.call('RPUSH', head .. ':arrived', event_id)
redis.call('HSET', head .. ':events', event_id, seq .. ':' .. mark .. ':' .. record)
redis.call('ZADD', head .. ':open', seq, event_id)
version = raise(was, version)
due = by_now(due)
redis.call('HSET', head, 'version', version, 'due', due)
place(version, due, expires or 0)
return 1
