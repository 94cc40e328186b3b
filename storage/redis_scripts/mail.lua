-- ARGV[1] says how many. Answers the newest events of the case whose head is KEYS[1], each with its
-- id, packed record and whether it is unapplied, and the newest posts, each with its id, packed
-- record and place, where it has one; the oldest of them first.

local events, posts = {}, {}
for _, event_id in ipairs(redis.call('LRANGE', KEYS[1] .. ':arrived', -ARGV[1], -1)) do
  events[#events + 1] = event_id
  events[#events + 1] = redis.call('HGET', KEYS[1] .. ':events', event_id)
  events[#events + 1] = redis.call('ZSCORE', KEYS[1] .. ':open', event_id)
end
for _, post_id in ipairs(redis.call('LRANGE', KEYS[1] .. ':said', -ARGV[1], -1)) do
  posts[#posts + 1] = post_id
  posts[#posts + 1] = redis.call('HGET', KEYS[1] .. ':posts', post_id)
  posts[#posts + 1] = redis.call('HGET', KEYS[1] .. ':sent', post_id)
end
return { events, posts }
