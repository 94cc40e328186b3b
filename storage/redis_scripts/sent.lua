-- Arguments: token, owner, how many posts follow, then each with its id and its place. Answers 0 when the
-- lease is lost, the ids of posts that aren't there (then nothing is written), else 1.

local token, owner, count = take(), take(), tonumber(take())

local held_token, held_owner, expires =
  unpack(redis.call('HMGET', head, 'token', 'owner', 'expires'))
if not is_held(token, owner, held_token, held_owner, expires) then
  return 0
end
local places, unknown = {}, {}
for _ = 1, count do
  local post_id = take()
  places[post_id] = take()
  if redis.call('HEXISTS', head .. ':posts', post_id) == 0 then
    unknown[#unknown + 1] = post_id
  end
end
if #unknown > 0 then
  return unknown
end

for post_id, place_of in pairs(places) do
  redis.call('HSET', head .. ':sent', post_id, place_of)
  redis.call('ZREM', head .. ':unsent', post_id)
end
return 1
