-- LockBackend::acquire: asks for a tick.
--
-- KEYS:  1 lock, 2 mark, 3 open
-- ARGV, reply: as _acquire.lua says.
--
-- Atomic because the mark is looked at and moved in one step: of two nodes that ask for one tick,
-- the second finds it taken. Safe to repeat: the holder finds its own first answer.
return reply
