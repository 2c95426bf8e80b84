-- LockBackend::force_release: frees a lock whoever holds it, for operators.
--
-- KEYS:  1 lock, 2 mark
-- ARGV:  1 'lock' or 'lock-and-mark'
-- Reply: { now, 'released' or 'not-held' }
--
-- Atomic so that lock and mark go together. The newest token stays, in the same hash as the mark,
-- and so do the open runs. What makes no sense goes: this is what an operator has against it.
local there = call('DEL', KEYS[1]) > 0
if ARGV[1] == 'lock-and-mark' then
  local token = redis.pcall('HGET', KEYS[2], 'token')
  if type(token) == 'table' then
    if not token.err:find('WRONGTYPE') then return token end
    call('DEL', KEYS[2])
  else
    call('HDEL', KEYS[2], 'tick', 'schedule', 'how', 'holder', 'run', 'node',
      'previous', 'at', 'untold')
    if token and (#token ~= 16 or token:find('%D')) then call('HDEL', KEYS[2], 'token') end
  end
end
return { now, there and 'released' or 'not-held' }
