-- Part of release and finish: gives a lock up.
--
-- KEYS:  1 lock, 2 open. Frees the lock of that holder and token alone, and takes the run out
-- of the open ones with those that were named to it (they have smaller tokens), even when the lock
-- has gone. Returns 'released' or 'not-held'.
local function release(holder, run, token)
  local lock = call('HMGET', KEYS[1], 'holder', 'token')
  if lock[1] == holder and lock[2] == token then
    -- Who holds the lock has the newest grant: all other open runs were named to it.
    call('ZREMRANGEBYSCORE', KEYS[2], '-inf', token)
    call('DEL', KEYS[1])
    return 'released'
  end
  local mine = token .. ' ' .. run .. ' '
  for _, entry in ipairs(call('ZRANGEBYSCORE', KEYS[2], token, token)) do
    if entry:sub(1, #mine) == mine then
      call('ZREMRANGEBYSCORE', KEYS[2], '-inf', token)
      break
    end
  end
  return 'not-held'
end
