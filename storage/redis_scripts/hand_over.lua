-- Arguments: token, owner. The case goes to the next owner, due as it is; a lost lease changes nothing.

local token, owner = take(), take()

local version, held_token, held_owner, expires, due =
  unpack(redis.call('HMGET', head, 'version', 'token', 'owner', 'expires', 'due'))
if is_held(token, owner, held_token, held_owner, expires) then
  redis.call('HSET', head, 'expires', 0)
  place(version, tonumber(due), 0)
end
return 1
