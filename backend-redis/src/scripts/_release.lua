-- Part of release and finish: gives a lock up.
--
-- lease: holder, run, token. Frees the lock of that holder and token alone, and takes the run out
-- of the open ones with those that were named to it (they have smaller tokens), even when the lock
-- has gone. Returns 'released' or 'not-held'.
local function release(key, lease)
  local lock = redis.call('HMGET', key.lock, 'holder', 'token')
  local open = redis.call('ZRANGEBYSCORE', key.open, lease.token, lease.token)
  local mine = lease.token .. ' ' .. lease.run .. ' '
  for _, run in ipairs(open) do
    if run:sub(1, #mine) == mine then
      redis.call('ZREMRANGEBYSCORE', key.open, '-inf', lease.token)
      break
    end
  end
  if lock[1] == lease.holder and lock[2] == lease.token then
    redis.call('DEL', key.lock)
    return 'released'
  end
  return 'not-held'
end
