-- Part of release and finish: gives a lock up.
--
-- KEYS:  1 lock, 2 open
-- ARGV:  1 lease ("token holder"), 2 run
--
-- Frees the lock of that lease alone, and takes the run out of the open ones with those that were
-- named to it (they have smaller tokens), even when the lock has gone. What became of it is in `what`:
-- 'released' or 'not-held'.
local run, token, what = ARGV[2], ARGV[1]:sub(1, 16), 'not-held'
if call('HGET', KEYS[1], 'lease') == ARGV[1] then
  -- Who holds the lock has the newest grant: all other open runs were named to it.
  call('ZREMRANGEBYSCORE', KEYS[2], '-inf', token)
  call('DEL', KEYS[1])
  what = 'released'
else
  local mine = token .. ' ' .. run .. ' '
  for _, entry in ipairs(call('ZRANGEBYSCORE', KEYS[2], token, token)) do
    if entry:sub(1, #mine) == mine then
      call('ZREMRANGEBYSCORE', KEYS[2], '-inf', token)
      break
    end
  end
end
