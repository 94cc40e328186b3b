-- Arguments: token, owner, seconds. Answers 1, or 0 when the lease is lost.

local token, owner, seconds = take(), take(), take()

local version, held_token, held_owner, expires, due =
  unpack(redis.call('HMGET', head, 'version', 'token', 'owner', 'expires', 'due'))
if not is_held(token, owner, held_token, held_owner, expires) then
  return 0
end

expires = now + tonumber(seconds)
redis.call('HSET', head, 'expires', expires)
place(version, tonumber(due), expires)
return 1
