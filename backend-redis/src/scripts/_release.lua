-- Part of release and finish: gives a lock up.
--
-- lease: holder, run, token. Frees the lock of that holder and token alone, and takes the run out
-- of the open ones with those that were named to it (they have smaller tokens), even when the lock
-- has gone. Returns 'released' or 'not-held'.
local function release(key, lease)
  local lock = redis.call('HMGET', key.lock, 'holder', 'token')
  if lock[1] == lease.holder and lock[2] == lease.token then
    -- Who holds the lock has the newest grant: all other open runs were named to it.
    redis.call('ZREMRANGEBYSCORE', key.open, '-inf', lease.token)
    redis.call('DEL', key.lock)
    return 'released'
  end
  local mine = lease.token .. ' ' .. lease.run .. ' '
  for _, run in ipairs(redis.call('ZRANGEBYSCORE', key.open, lease.token, lease.token)) do
    if run:sub(1, #mine) == mine then
      redis.call('ZREMRANGEBYSCORE', key.open, '-inf', lease.token)
      break
    end
  end
  return 'not-held'
end
