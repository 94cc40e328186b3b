-- Arguments: the newest version that the caller knows, owner, mark of this call, seconds. Answers
-- the token, the case (see whole.lua), its unapplied events, how many posts aren't known to be sent,
-- '1' when the last owner didn't give the case up; nothing when the case is owned or unknown; the
-- version alone when that is newer. A repetition of the call that got the lease gets the same one.

local known, owner, mark, seconds = take(), take(), take(), take()

local function claimed(token, interrupted)
  local posts = redis.call('ZCARD', head .. ':unsent')
  return { tonumber(token), whole(), (unapplied({})), posts, interrupted }
end

local version, token, expires, due, claimed_by, interrupted =
  unpack(redis.call('HMGET', head, 'version', 'token', 'expires', 'due', 'claim', 'interrupted'))
if not version then
  return false
end
if tonumber(version) > tonumber(known) then
  return { version }
end
if expires and tonumber(expires) > now then
  return claimed_by == mark and claimed(token, interrupted)
end

token = (tonumber(token) or 0) + 1
interrupted = expires and tonumber(expires) > 0 and '1' or '0'
expires = now + tonumber(seconds)
due = by_now(due)
-- `number` counts the writes under one lease; see save.lua.
redis.call('HSET', head, 'owner', owner, 'claim', mark, 'token', token, 'expires', expires,
  'due', due, 'number', 0, 'interrupted', interrupted)
place(version, due, expires)
return claimed(token, interrupted)
