-- LockBackend::inspect: what is known of a key.
--
-- KEYS:  1 lock, 2 mark, 3 open
-- Reply: { now, milliseconds the lock has left, { lock fields and values }, { mark fields and
--        values }, { open runs, oldest first } }
--
-- Atomic so that all of it is of one moment. Changes nothing.
return {
  now,
  tostring(call('PTTL', KEYS[1])),
  call('HGETALL', KEYS[1]),
  call('HGETALL', KEYS[2]),
  call('ZRANGE', KEYS[3], '0', '-1'),
}
