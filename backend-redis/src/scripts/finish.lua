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
local key = {
  lock = KEYS[1], open = KEYS[2],
  running = KEYS[3], runs = KEYS[4], skipped = KEYS[5], records = KEYS[6],
}
local now = clock()
local what = release(key, { holder = ARGV[1], run = ARGV[2], token = ARGV[3] })
local limits = { keep = tonumber(ARGV[4]), max_age = tonumber(ARGV[5]) }
local failure = try(save, key, limits, now, ARGV[6], {
  state = ARGV[7], token = ARGV[8], tail = ARGV[9],
})
return { now, failure, what }
