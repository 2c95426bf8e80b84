-- LockBackend::renew: sets the lock's life anew.
--
-- KEYS:  1 lock
-- ARGV:  1 lease ("token holder"), 2 ttl (milliseconds)
-- Reply: { now, 'renewed' or 'lost' }
--
-- Atomic because the holder is looked at and its lock renewed in one step. It never creates a key:
-- a lock that has expired is lost. Works on a server that is full.
if call('HGET', KEYS[1], 'lease') == ARGV[1] then
  call('PEXPIRE', KEYS[1], ARGV[2])
  return { now, 'renewed' }
end
return { now, 'lost' }
