-- Part of other scripts: the server's clock.
--
-- A text of 18 digits, microseconds since 1970. Texts of one length compare like the numbers
-- they are, so that nothing here hangs on how exact a Lua number is.
local function clock()
  local time = redis.call('TIME')
  return string.format('%012d%06d', tonumber(time[1]), tonumber(time[2]))
end
