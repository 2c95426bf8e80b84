-- Whether this user may use the commands that the other scripts write and read with.
--
-- KEYS[1]  a key that nothing else uses; nothing of it stays
-- Replies: for each command that is refused, its name and what the server says, in turn.
-- Atomic, as each script is: nobody else ever sees the key.

local key, refused = KEYS[1], {}

local function try(name, ...)
  local answer = redis.pcall(name, key, ...)
  if type(answer) == 'table' and answer.err then
    refused[#refused + 1] = string.lower(name)
    refused[#refused + 1] = answer.err
  end
end

try('HSET', 'a', '1')
try('HSETNX', 'b', '1')
try('PEXPIRE', 1000)
try('PTTL')
try('HGET', 'a')
try('HMGET', 'a')
try('HGETALL')
try('HDEL', 'a')
try('DEL')
try('ZADD', 1, 'a')
try('ZRANGE', 0, 0)
try('ZRANGEBYSCORE', 0, 0)
try('ZCARD')
try('ZCOUNT', 0, 0)
try('ZSCORE', 'a')
try('ZREMRANGEBYSCORE', 0, 0)
try('ZREMRANGEBYRANK', 0, 0)
try('ZREM', 'a')
try('DEL')

return refused
