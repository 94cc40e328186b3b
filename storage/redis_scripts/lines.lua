-- ARGV are ids of runs. Answers for each that is there: its id, its record, its case's id and
-- record.

local lines = {}
for _, run_id in ipairs(ARGV) do
  local case_id = redis.call('HGET', 'casethread:run-cases', run_id)
  if case_id then
    local head = 'casethread:{' .. case_id .. '}'
    lines[#lines + 1] = run_id
    lines[#lines + 1] = redis.call('HGET', head .. ':run:' .. run_id, 'record')
    lines[#lines + 1] = case_id
    lines[#lines + 1] = redis.call('HGET', head, 'case')
  end
end
return lines
