-- ARGV[1] is the id of a run. Answers its trace entries, oldest first.

local case_id = redis.call('HGET', 'casethread:run-cases', ARGV[1])
if not case_id then
  return {}
end
return redis.call('LRANGE', 'casethread:{' .. case_id .. '}:trace:' .. ARGV[1], 0, -1)
