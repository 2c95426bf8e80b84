-- Backend::finish: gives the lock up and stores how the run ended.
--
-- KEYS:  1 lock, 2 open, 3 running, 4 runs, 5 skipped, 6 records
-- ARGV:  1 and 2 as _release.lua says; 3 keep, 4 max_age, 5 the record: "state token count ended
--        rest"; 6 its run, where that is not this one, or where this one is not said to have run to its end
-- Reply: { now, 'released' or 'not-held'; behind it and a blank: why the record was not stored }
--
-- Atomic so that nobody sees a run that has ended but holds the lock, or the other way round. The
-- release comes first and stands when the record is refused; a full server, too, takes the record
-- behind a release. Safe to repeat.
local record, place = ARGV[5], '-' .. token
if not ARGV[6] then
  -- As a rule it is among those that run, and has the place of its grant, which no other has: its
  -- record there yields to any end. What is over the limits goes when the next one begins.
  if redis.pcall('ZADD', KEYS[4], 'NX', place, run) == 1 then
    if redis.pcall('ZREMRANGEBYSCORE', KEYS[3], place, place) ~= 1 then
      redis.pcall('ZREM', KEYS[4], run)
    elseif redis.pcall('HSET', KEYS[6], run, now:sub(3, 15) .. ' ' .. record) == 0 then
      return { now, what }
    end
  end
end
local H = history(KEYS[3], KEYS[4], KEYS[5], KEYS[6], tonumber(ARGV[3]), tonumber(ARGV[4]))
local failure = H.try(H.save, ARGV[6] or run, record)
return { now, failure and what .. ' ' .. failure or what }
