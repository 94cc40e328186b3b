-- Arguments: the newest version that the caller knows, owner, mark of this call, seconds. Answers
-- the token; nothing when the case is owned or unknown; a list with the version when it is newer.
-- A repetition of the call that got the lease gets the same one.

local known, owner, mark, seconds = take(), take(), take(), take()

local version, token, expires, due, claimed_by =
  unpack(redis.call('HMGET', head, 'version', 'token', 'expires', 'due', 'claim'))
if not version then
  return false
end
if tonumber(version) > tonumber(known) then
  return { version }
end
if expires and tonumber(expires) > now then
  return claimed_by == mark and tonumber(token)
end

token = (tonumber(token) or 0) + 1
expires = now + tonumber(seconds)
due = by_now(due)
-- `number` counts the writes under one lease; see save.lua.
redis.call('HSET', head, 'owner', owner, 'claim', mark, 'token', token, 'expires', expires,
  'due', due, 'number', 0)
place(version, due, expires)
return token
