-- Answers the posts of the case whose head is KEYS[1] that aren't known to be sent, oldest first:
-- id, packed record and so on.

local found = {}
for _, post_id in ipairs(redis.call('ZRANGE', KEYS[1] .. ':unsent', 0, -1)) do
  found[#found + 1] = post_id
  found[#found + 1] = redis.call('HGET', KEYS[1] .. ':posts', post_id)
end
return found
