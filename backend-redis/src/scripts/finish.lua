-- Backend::finish: gives the lock up and stores how the run ended.
--
-- KEYS:  1 lock, 2 open, 3 running, 4 runs, 5 skipped, 6 records
-- ARGV:  1 holder, 2 run of the lease, 3 token; 4 keep, 5 max_age; of the record 6 run, 7 state,
--        8 token, 9 tail
-- Reply: { now, why the record was not stored or '', 'released' or 'not-held' }
--
-- Atomic so that nobody sees a run that has ended but holds the lock, or the other way round. The
-- release comes first and stands when the record is refused; a full server, too, takes the record
-- behind a release. Safe to repeat.
local now = clock()
local what = release(ARGV[1], ARGV[2], ARGV[3])

local function close(keep, max_age, now, run, state, token, tail)
  local ran = state ~= 'running' and state ~= 'abandoned' and state ~= 'missed'
    and state:sub(1, 8) ~= 'skipped-'
  local place = ran and redis.call('ZSCORE', KEYS[3], run)
  if not place then
    return save(KEYS[3], KEYS[4], KEYS[5], KEYS[6], keep, max_age, now, run, state, token, tail)
  end
  -- The record of one of those that run says so, and yields to any end.
  redis.call('ZADD', KEYS[4], place, run)
  redis.call('ZREM', KEYS[3], run)
  redis.call('HSET', KEYS[6], run,
    now:sub(3, 15) .. ' ' .. state .. ' ' .. token .. ' ' .. tail)
  trim(KEYS[3], KEYS[4], KEYS[6], keep, max_age, now, 0, place)
end

local why = why_not(pcall(close, tonumber(ARGV[4]), tonumber(ARGV[5]), now, ARGV[6], ARGV[7], ARGV[8],
  ARGV[9]))
return { now, why, what }
