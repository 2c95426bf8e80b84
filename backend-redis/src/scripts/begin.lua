-- Backend::begin: asks for a tick; a grant is recorded and closes what others left.
--
-- KEYS:  1 lock, 2 mark, 3 open, 4 running, 5 runs, 6 skipped, 7 records
-- ARGV:  1 to 11 as _acquire.lua; 12 keep, 13 max_age, 14 the record's count, ended and rest; 15 its
--        state, where that is not 'running'
-- Reply: as _acquire.lua says; behind 'granted' and a blank: why a record was not stored.
--
-- Atomic so that the record of a run exists if and only if it was granted. The grant stands when
-- the record is refused. Safe to repeat, like acquire; a record is stored once a run.
local tail, keep, stored = ARGV[14], tonumber(ARGV[12]), false
if not lock and #reply == 4 and not ARGV[15] then
  -- Granted just now: as a rule, nothing of it is stored.
  local text = now:sub(3, 15) .. ' running ' .. token .. ' ' .. tail
  stored = redis.pcall('HSETNX', KEYS[7], run, text) == 1
    and redis.pcall('ZADD', KEYS[4], '-' .. token, run) == 1
  local count = stored and redis.pcall('ZCARD', KEYS[5])
  -- What is over the limits is not listed: it goes a tenth of them at a time. Of a history that is
  -- not full, ages are looked at now and then.
  if type(count) == 'number'
      and (count < keep and token:sub(-1) ~= '0' or count >= keep and count < keep * 1.1) then
    return reply
  end
end

local H, failure = history(KEYS[4], KEYS[5], KEYS[6], KEYS[7], keep, tonumber(ARGV[13])), nil
if #reply > 4 then
  local at = string.format('@%.0f.%s', tonumber(now:sub(1, 12)), now:sub(13))
  -- An open run older than the newest that are kept, this run among them, and without a record had
  -- one that has gone: it would come back as the newest, and push out one that is newer.
  local oldest_kept = #reply - keep + 2
  for i = 5, #reply do
    local token, run, tick, node = reply[i]:match('^(%d+) (%x+) (%S+) ([^\n]*)')
    if token and #run == 32
        and (i >= oldest_kept or redis.pcall('HGET', KEYS[7], run)) then
      local record = ('abandoned %s - %s %s %s {"node":%s}'):format(token, at, tick, at, node)
      failure = H.try(H.save, run, record) or failure
    end
  end
end
if stored then
  failure = H.try(H.trim, KEYS[5], 1)
else
  local record = (ARGV[15] or 'running') .. ' ' .. token .. ' ' .. tail
  failure = H.try(H.save, run, record) or failure
end
if failure then reply[2] = 'granted ' .. failure end
return reply
