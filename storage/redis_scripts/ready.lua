-- KEYS are the indexes of due cases, one for each version that the caller knows. ARGV[1] is the
-- caller's time, ARGV[2] is 1 when Redis' own clock counts, ARGV[3] says how many cases at most.

local now = ARGV[1]
if ARGV[2] == '1' then
  local time = redis.call('TIME')
  now = string.format('%d.%06d', time[1], time[2])
end

local due = {}
for _, index in ipairs(KEYS) do
  local found =
    redis.call('ZRANGEBYSCORE', index, '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[3])
  for i = 1, #found, 2 do
    due[#due + 1] = { case_id = found[i], at = tonumber(found[i + 1]) }
  end
end
table.sort(due, function(one, other)
  if one.at ~= other.at then
    return one.at < other.at
  end
  return one.case_id < other.case_id
end)

local first = {}
for i = 1, math.min(#due, tonumber(ARGV[3])) do
  first[i] = due[i].case_id
end
return first
