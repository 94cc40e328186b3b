-- Answers the case whose head is KEYS[1]; see whole.lua.

return whole()
