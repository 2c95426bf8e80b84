-- Backend::finish: gives the lock up and stores how the run ended.
--
-- KEYS:  1 lock, 2 open, 3 running, 4 runs, 5 skipped, 6 records
-- ARGV:  1 holder, 2 run, 3 token; 4 keep, 5 max_age, 6 the record: "state token count ended rest";
--        7 its run, where that is not this one, or where this one is not said to have run to its end
-- Reply: { now, why the record was not stored or '', 'released' or 'not-held' }
--
-- Atomic so that nobody sees a run that has ended but holds the lock, or the other way round. The
-- release comes first and stands when the record is refused; a full server, too, takes the record
-- behind a release. Safe to repeat.
local what = release(ARGV[1], ARGV[2], ARGV[3])

local run, record, place = ARGV[2], ARGV[6], '-' .. ARGV[3]
if not ARGV[7] then
  -- As a rule it is among those that run, and has the place of its grant: its record there yields to
  -- any end. What is over the limits goes when the next one begins.
  local there = redis.pcall('ZRANGEBYSCORE', KEYS[3], place, place)
  if there[1] == run and redis.pcall('ZADD', KEYS[4], place, run) == 1
      and redis.pcall('ZREM', KEYS[3], run) == 1
      and redis.pcall('HSET', KEYS[6], run, now:sub(3, 15) .. ' ' .. record) == 0 then
    return { now, '', what }
  end
end
local H = history(KEYS[3], KEYS[4], KEYS[5], KEYS[6], tonumber(ARGV[4]), tonumber(ARGV[5]))
return { now, H.try(H.save, ARGV[7] or run, record) or '', what }
