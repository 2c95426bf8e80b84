-- LockBackend::acquire: asks for a tick.
--
-- KEYS:  1 lock, 2 mark, 3 open
-- ARGV:  1 holder, 2 run, 3 node, 4 node as JSON, 5 tick, 6 tick as text, 7 schedule, 8 ttl,
--        9 earliest, 10 intent, 11 if_held, 12 skew, 13 after
-- Reply: as _acquire.lua says.
--
-- Atomic because the mark is looked at and moved in one step: of two nodes that ask for one tick,
-- the second finds it taken. Safe to repeat: the holder finds its own first answer.
local key = { lock = KEYS[1], mark = KEYS[2], open = KEYS[3] }
return acquire(key, {
  holder = ARGV[1], run = ARGV[2], node = ARGV[3], node_json = ARGV[4], tick = ARGV[5],
  tick_text = ARGV[6], schedule = ARGV[7], ttl = ARGV[8], earliest = ARGV[9], intent = ARGV[10],
  if_held = ARGV[11], skew = ARGV[12], after = ARGV[13],
}, clock())
