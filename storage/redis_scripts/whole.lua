-- Goes before each script that reads the case whose head is KEYS[1] whole.

-- Nothing for an unknown case; else its record, the id and the record of its latest run, that
-- run's messages.
local function whole()
  local version, case_record, run_id =
    unpack(redis.call('HMGET', KEYS[1], 'version', 'case', 'run'))
  if not version then
    return false
  end
  local run_record, messages = false, {}
  if run_id then
    run_record = redis.call('HGET', KEYS[1] .. ':run:' .. run_id, 'record')
    messages = redis.call('LRANGE', KEYS[1] .. ':messages:' .. run_id, 0, -1)
  end
  return { case_record, run_id, run_record, messages }
end
