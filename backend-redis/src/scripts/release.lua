-- LockBackend::release: gives a lock up.
--
-- KEYS:  1 lock, 2 open
-- ARGV:  1 holder, 2 run, 3 token
-- Reply: { now, '', 'released' or 'not-held' }
--
-- Atomic because the holder is looked at and its lock deleted in one step: a lock that expired and
-- became another's in between stays. Safe to repeat.
return { now, '', release(ARGV[1], ARGV[2], ARGV[3]) }
