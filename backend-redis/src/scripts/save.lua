-- RecordStore::save: stores a record.
--
-- KEYS:  1 running, 2 runs, 3 skipped, 4 records
-- ARGV:  1 keep, 2 max_age; of the record 3 run, 4 state, 5 token, 6 tail
-- Reply: { now }
--
-- Atomic because what is stored is looked at before it is replaced: a final state stays whichever
-- writer comes last. Safe to repeat.
local key = { running = KEYS[1], runs = KEYS[2], skipped = KEYS[3], records = KEYS[4] }
local now = clock()
save(key, { keep = tonumber(ARGV[1]), max_age = tonumber(ARGV[2]) }, now, ARGV[3], {
  state = ARGV[4], token = ARGV[5], tail = ARGV[6],
})
return { now }
