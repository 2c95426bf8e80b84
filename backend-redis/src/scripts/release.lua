-- LockBackend::release: gives a lock up.
--
-- KEYS:  1 lock, 2 open
-- ARGV:  1 holder, 2 run, 3 token
-- Reply: { now, '', 'released' or 'not-held' }
--
-- Atomic because the holder is looked at and its lock deleted in one step: a lock that expired and
-- became another's in between stays. Safe to repeat.
local now = clock()
local key = { lock = KEYS[1], open = KEYS[2] }
return { now, '', release(key, { holder = ARGV[1], run = ARGV[2], token = ARGV[3] }) }
