-- Goes before each script that changes one case.
--
-- KEYS[1] is the head of the case, a hash; the names of its other keys begin with it, so that all
-- share the hash tag. ARGV[1] is the caller's time in Unix seconds, and ARGV[2] is 1 when Redis'
-- own clock counts. Every script looks at everything first and writes then: Redis rolls nothing
-- back.

local head = KEYS[1]
local case_id = string.match(head, '^casethread:{(.*)}$')

local function time_now()
  if ARGV[2] ~= '1' then
    return tonumber(ARGV[1])
  end
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

local now = time_now()
-- By how much the clock that counts is ahead of the caller's.
local ahead = now - tonumber(ARGV[1])

local argument = 2

-- The next argument after the two of the clock.
local function take()
  argument = argument + 1
  return ARGV[argument]
end

-- A due time of the caller's ('' for none) by the clock that counts.
local function take_due()
  local due = tonumber(take())
  return due and due + ahead
end

-- A case that wants attention now, at the latest.
local function by_now(due)
  return math.min(tonumber(due) or now, now)
end

-- The owner counts beside the token: a Redis that crashed may have lost the latest claims, and then
-- it gives their tokens away again.
local function is_held(token, owner, held_token, held_owner, expires)
  return held_token == token and held_owner == owner and tonumber(expires) > now
end

-- Where `ready` finds the case: it is ready once it is due and nobody has it. Cases are apart by
-- the newest version among their records, so that older code never meets newer ones there.
local function place(version, due, expires)
  local index = 'casethread:due:' .. version
  if due then
    redis.call('ZADD', index, math.max(due, tonumber(expires)), case_id)
  else
    redis.call('ZREM', index, case_id)
  end
end

-- The version that a case has with a record of another one, once it is written as such.
local function raise(version, other)
  if version and tonumber(version) >= tonumber(other) then
    return version
  end
  if version then
    redis.call('ZREM', 'casethread:due:' .. version, case_id)
  end
  return other
end
