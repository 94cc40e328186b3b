-- Arguments: the newest version that the caller knows, owner, mark of this call, seconds. Answers
-- the token, the case (see whole.lua), its unapplied events, how many posts aren't known to be sent;
-- nothing when the case is owned or unknown; the version alone when that is newer. A repetition of
-- the call that got the lease gets the same one.

local known, owner, mark, seconds = take(), take(), take(), take()

local function claimed(token)
  return { tonumber(token), whole(), (unapplied({})), redis.call('ZCARD', head .. ':unsent') }
end

local version, token, expires, due, claimed_by =
  unpack(redis.call('HMGET', head, 'version', 'token', 'expires', 'due', 'claim'))
if not version then
  return false
end
if tonumber(version) > tonumber(known) then
  return { version }
end
if expires and tonumber(expires) > now then
  return claimed_by == mark and claimed(token)
end

token = (tonumber(token) or 0) + 1
expires = now + tonumber(seconds)
due = by_now(due)
-- `number` counts the writes under one lease; see save.lua.
redis.call('HSET', head, 'owner', owner, 'claim', mark, 'token', token, 'expires', expires,
  'due', due, 'number', 0)
place(version, due, expires)
return claimed(token)
