-- Answers the unapplied events of the case whose head is KEYS[1].

return (unapplied({}))
