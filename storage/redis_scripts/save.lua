-- Arguments: token, owner, number, version, case record, due time or '', seq of the newest seen event or
-- '', how many applied events, posts, images, messages and trace entries follow, id of the run or
-- '', its status, time of opening, count of messages before, record; then the event ids, the posts
-- (id, record), the images (digest, bytes), the messages, the trace entries.
--
-- Answers 'saved' and the inbox after it; or 'lost', 'inbox', 'messages' with the stored count,
-- 'taken', and nothing is written.
--
-- `number` grows with each save and release under a lease. A repetition of the last one finds that
-- it was written and answers again; one that comes late, after a later write, finds its lease lost.

local token, owner, number = take(), take(), take()
local version, case_record = take(), take()
local next_due, seen = take_due(), tonumber(take())
local applied_count, post_count, image_count = tonumber(take()), tonumber(take()), tonumber(take())
local message_count, trace_count = tonumber(take()), tonumber(take())
local run_id, status, opened_at, first, run_record = take(), take(), take(), take(), take()

local was, held_token, held_owner, expires, due, written =
  unpack(redis.call('HMGET', head, 'version', 'token', 'owner', 'expires', 'due', 'number'))
if held_token == token and held_owner == owner and written == number then
  return { 'saved', (unapplied({})) }
end
if not is_held(token, owner, held_token, held_owner, expires)
  or tonumber(number) < tonumber(written)
then
  return { 'lost' }
end

local applied = {}
for _ = 1, applied_count do
  applied[take()] = true
end
local left, newest = unapplied(applied)
if seen and newest > seen then
  return { 'inbox' }
end

local run = head .. ':run:' .. run_id
local old_status = false
if run_id ~= '' then
  local stored = redis.call('LLEN', head .. ':messages:' .. run_id)
  if stored ~= tonumber(first) then
    return { 'messages', tostring(stored) }
  end
  old_status = redis.call('HGET', run, 'status')
  if not old_status and redis.call('HEXISTS', 'casethread:run-cases', run_id) == 1 then
    return { 'taken' }
  end
end

-- From here on it is written.

for event_id in pairs(applied) do
  redis.call('ZREM', head .. ':open', event_id)
end

local posted = redis.call('LLEN', head .. ':said')
for _ = 1, post_count do
  local post_id, record = take(), take()
  if redis.call('HSETNX', head .. ':posts', post_id, posted + 1 .. ':' .. token .. ':' .. record) == 1
  then
    posted = redis.call('RPUSH', head .. ':said', post_id)
    redis.call('ZADD', head .. ':unsent', posted, post_id)
  end
end

for _ = 1, image_count do
  redis.call('SET', 'casethread:image:' .. take(), take(), 'NX')
end

for _ = 1, message_count do
  redis.call('RPUSH', head .. ':messages:' .. run_id, take())
end
for _ = 1, trace_count do
  redis.call('RPUSH', head .. ':trace:' .. run_id, take())
end

if run_id ~= '' then
  if not old_status then
    -- The count before the id puts runs that were opened in the same moment in their order.
    local line = string.format('%012d:%s', redis.call('INCR', 'casethread:run-count'), run_id)
    redis.call('HSET', run, 'line', line, 'opened_at', opened_at)
    redis.call('HSET', 'casethread:run-cases', run_id, case_id)
    redis.call('ZADD', 'casethread:runs', opened_at, line)
    redis.call('ZADD', 'casethread:runs:' .. status, opened_at, line)
    redis.call('HSET', head, 'run', run_id)
  elseif old_status ~= status then
    local line, opened = unpack(redis.call('HMGET', run, 'line', 'opened_at'))
    redis.call('ZREM', 'casethread:runs:' .. old_status, line)
    redis.call('ZADD', 'casethread:runs:' .. status, opened, line)
  end
  redis.call('HSET', run, 'record', run_record, 'status', status)
end

if not next_due or #left > 0 or redis.call('ZCARD', head .. ':unsent') > 0 then
  next_due = by_now(due)
end
version = raise(was, version)
redis.call('HSET', head, 'case', case_record, 'version', version, 'due', next_due, 'number', number)
place(version, next_due, expires)
return { 'saved', left }
