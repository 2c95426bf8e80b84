-- LockBackend::renew: sets the lock's life anew.
--
-- KEYS:  1 lock
-- ARGV:  1 holder, 2 token, 3 ttl (milliseconds)
-- Reply: { now, 'renewed' or 'lost' }
--
-- Atomic because the holder is looked at and its lock renewed in one step. It never creates a key:
-- a lock that has expired is lost. Works on a server that is full.
local lock = call('HMGET', KEYS[1], 'holder', 'token')
if lock[1] == ARGV[1] and lock[2] == ARGV[2] then
  call('PEXPIRE', KEYS[1], ARGV[3])
  return { now, 'renewed' }
end
return { now, 'lost' }
