-- Backend::begin: asks for a tick; a grant is recorded and closes what others left.
--
-- KEYS:  1 lock, 2 mark, 3 open, 4 running, 5 runs, 6 skipped, 7 records
-- ARGV:  1 to 13 as _acquire.lua; 14 keep, 15 max_age; of the record 16 state, 17 tail
-- Reply: as _acquire.lua says; second place: why a record was not stored, or ''.
--
-- Atomic so that the record of a run exists if and only if it was granted. The grant stands when
-- the record is refused. Safe to repeat, like acquire; a record is stored once a run.
local keep, max_age = tonumber(ARGV[14]), tonumber(ARGV[15])

-- Of a run that was granted just now nothing is stored, as a rule.
local function start(keep, max_age, now, token)
  local run, place = ARGV[2], redis.call('HINCRBY', KEYS[7], 'next', 1)
  if place > 1 and redis.call('ZADD', KEYS[4], 'NX', place, run) == 1 then
    local text = now:sub(3, 15) .. ' running ' .. token .. ' ' .. ARGV[17]
    if redis.call('HSETNX', KEYS[7], run, text) == 1 then
      return trim(KEYS[4], KEYS[5], KEYS[7], keep, max_age, now, 1)
    end
    redis.call('ZREM', KEYS[4], run)
  end
  save(KEYS[4], KEYS[5], KEYS[6], KEYS[7], keep, max_age, now, run, 'running', token, ARGV[17])
end

local failure = ''
if #reply > 6 then
  local at = string.format('@%.0f.%s', tonumber(now:sub(1, 12)), now:sub(13))
  -- An open run older than the newest that are kept, this run among them, and without a record had
  -- one that has gone: it would come back as the newest, and push out one that is newer.
  local oldest_kept = #reply - keep + 2
  for i = 7, #reply do
    local token, run, tick, node = reply[i]:match('^(%d+) (%x+) (%S+) ([^\n]*)')
    if token and #run == 32
        and (i >= oldest_kept or redis.pcall('HGET', KEYS[7], run)) then
      local tail = '- ' .. at .. ' ' .. tick .. ' ' .. at .. ' {"node":' .. node .. '}'
      local why = why_not(pcall(save, KEYS[4], KEYS[5], KEYS[6], KEYS[7], keep, max_age, now, run,
        'abandoned', token, tail))
      if why ~= '' then failure = why end
    end
  end
end
local why
if ARGV[16] == 'running' then
  why = why_not(pcall(start, keep, max_age, now, token))
else
  why = why_not(pcall(save, KEYS[4], KEYS[5], KEYS[6], KEYS[7], keep, max_age, now, run, ARGV[16],
    token, ARGV[17]))
end
if why ~= '' then failure = why end
reply[2] = failure
return reply
