-- Goes before each script that reads the inbox of the case whose head is KEYS[1].

-- The events not yet applied, as id, packed record and so on, in the order of arrival, and the seq
-- of the last one; those whose ids are keys of `applied` are left out.
local function unapplied(applied)
  local open = redis.call('ZRANGE', KEYS[1] .. ':open', 0, -1, 'WITHSCORES')
  local found, last = {}, 0
  for i = 1, #open, 2 do
    if not applied[open[i]] then
      found[#found + 1] = open[i]
      found[#found + 1] = redis.call('HGET', KEYS[1] .. ':events', open[i])
      last = tonumber(open[i + 1])
    end
  end
  return found, last
end
