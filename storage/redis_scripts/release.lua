-- Arguments: token, owner, number, due time or ''. Answers 0 when an event is unapplied and the case
-- stays owned, else 1. `number` as in save.lua: what comes late, after a later write, does nothing.

local token, owner, number, due = take(), take(), take(), take_due()

local version, held_token, held_owner, expires, written =
  unpack(redis.call('HMGET', head, 'version', 'token', 'owner', 'expires', 'number'))
if not is_held(token, owner, held_token, held_owner, expires)
  or tonumber(number) < tonumber(written)
then
  return 1
end
if redis.call('ZCARD', head .. ':open') > 0 then
  return 0
end

redis.call('HSET', head, 'expires', 0, 'due', due or '')
place(version, due, 0)
return 1
