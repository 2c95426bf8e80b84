-- RecordStore::save: stores a record.
--
-- KEYS:  1 running, 2 runs, 3 skipped, 4 records
-- ARGV:  1 keep, 2 max_age, 3 run, 4 its record: "state token count ended rest"
-- Reply: { now }
--
-- Atomic because what is stored is looked at before it is replaced: a final state stays whichever
-- writer comes last. Safe to repeat.
local H = history(KEYS[1], KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[1]), tonumber(ARGV[2]))
H.save(ARGV[3], ARGV[4])
return { now }
