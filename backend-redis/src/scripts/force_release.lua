-- LockBackend::force_release: frees a lock whoever holds it, for operators.
--
-- KEYS:  1 lock, 2 mark
-- ARGV:  1 'lock' or 'lock-and-mark'
-- Reply: { now, '', 'released' or 'not-held' }
--
-- Atomic so that lock and mark go together. The newest token stays, in the same hash as the mark,
-- and so do the open runs.
local now = clock()
local there = redis.call('HLEN', KEYS[1]) > 0
if ARGV[1] == 'lock-and-mark' then
  redis.call('HDEL', KEYS[2], 'tick', 'schedule', 'how', 'granted', 'blocked_by', 'holder', 'run',
    'node', 'previous', 'at', 'skew')
end
redis.call('DEL', KEYS[1])
return { now, '', there and 'released' or 'not-held' }
