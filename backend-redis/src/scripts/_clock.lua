-- First part of every script: the server's clock, and short names.
--
-- now is a text of 18 digits, microseconds since 1970. Texts of one length compare like the numbers
-- they are, so that nothing here hangs on how exact a Lua number is.
--
-- Numbers among a command's arguments are texts: a Lua number is formatted as what it is not, a
-- fraction, which costs more than most commands.
local call, KEYS, ARGV = redis.call, KEYS, ARGV
local time = call('TIME')
local seconds = #time[1] == 10 and '00' .. time[1] or ('000000000000' .. time[1]):sub(-12)
local now = seconds .. (#time[2] == 6 and time[2] or ('000000' .. time[2]):sub(-6))
