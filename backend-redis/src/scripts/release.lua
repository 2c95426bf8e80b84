-- LockBackend::release: gives a lock up.
--
-- KEYS:  1 lock, 2 open
-- ARGV:  as _release.lua says
-- Reply: { now, 'released' or 'not-held' }
--
-- Atomic because the holder is looked at and its lock deleted in one step: a lock that expired and
-- became another's in between stays. Safe to repeat.
return { now, what }
