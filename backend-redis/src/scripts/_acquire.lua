-- Part of acquire and begin: takes a tick. The numbers are those of the contract of
-- LockBackend::acquire; the first that applies answers. What is no grant returns from the script; a
-- grant goes on behind this part, with its `reply`.
--
-- KEYS:  1 lock, 2 mark, 3 open, as the page on the layout describes them.
-- ARGV:  1 holder, 2 run, 3 node, 4 tick and node as an open run has them, 5 tick (15 digits:
--        milliseconds since 1970; '' for a manual run), 6 schedule, 7 ttl (milliseconds), 8 earliest
--        (18 digits: the first microsecond at which the tick is not too early), 9 intent ('run',
--        'run-or-consume' where another run may have the lock, or the state to skip with), 10 skew,
--        11 after (the tick before, or '')
-- Reply: { now, what, ... }. What:
--        'granted', token, previous, another open run, ...
--        'consumed', how, previous
--        'taken', '1' if its run holds the lock, then field and value of each part of the mark
--        'early'
--        'held', milliseconds left, then field and value of each part of the lock
--        'expired', token
--        how is what the mark says of it; previous the mark as it was, and in a second line what is
--        untold, if anything is.
--
-- All reads come before the first write, so that a key of the wrong type changes nothing, and what
-- goes into a reply that tells of a write is looked at before, so that no caller finds out behind it
-- that it makes no sense; the first write is one that a full server refuses, so that it, too, changes
-- nothing.
--
-- No table and no function is made on the way of a grant that can do without: each call makes them
-- anew, and they cost as much as commands do.
local holder, run, tick, schedule, after = ARGV[1], ARGV[2], ARGV[5], ARGV[6], ARGV[11]
local lock_flat, lock = call('HGETALL', KEYS[1]), nil
local mark = call('HMGET', KEYS[2], 'tick', 'schedule', 'token', 'untold')
local mark_tick, mark_schedule, mark_token, mark_untold = mark[1], mark[2], mark[3], mark[4]
if #lock_flat > 0 then
  lock = {}
  for i = 1, #lock_flat, 2 do lock[lock_flat[i]] = lock_flat[i + 1] end
  lock.token, lock.holder = (lock.lease or ''):match('^(%d+) (.*)$')
  if not (lock.token and #lock.token == 16
      and lock.run and #lock.run == 32 and not lock.run:find('%X')) then
    return redis.error_reply('TIDELOCK the lock makes no sense')
  end
end
local mark_was = ''
if mark_tick then
  mark_was = mark_tick .. ' ' .. (mark_schedule or '')
  if #mark_tick ~= 15 or #mark_was ~= 32
      or not ((mark_token or '') .. mark_was):find('^%d+ %x+$') then
    return redis.error_reply('TIDELOCK the mark makes no sense')
  end
end
if mark_token and (#mark_token ~= 16 or not mark_tick and mark_token:find('%D')) then
  return redis.error_reply('TIDELOCK the token makes no sense')
end

local token, previous, untold, open, timed = nil, '', '', nil, tick ~= ''
if lock and lock.holder == holder then
  -- 1. This very holder has it: the same answer, and a new life.
  open = call('ZRANGE', KEYS[3], '0', '-1')
  call('PEXPIRE', KEYS[1], ARGV[7])
  token, previous = lock.token, lock.previous or ''
else
  if timed and mark_tick and mark_tick >= tick then
    local flat, by, how = call('HGETALL', KEYS[2]), nil, nil
    for i = 1, #flat, 2 do
      if flat[i] == 'holder' then by = flat[i + 1] elseif flat[i] == 'how' then how = flat[i + 1] end
    end
    if not (by and how) then
      return redis.error_reply('TIDELOCK the mark makes no sense')
    end
    -- 2. This very holder moved the mark here.
    if mark_tick == tick and by == holder then
      local part = {}
      for i = 1, #flat, 2 do part[flat[i]] = flat[i + 1] end
      if how:sub(1, 8) == 'granted ' then return { now, 'expired', how:sub(9) } end
      return { now, 'consumed', how, with_untold(part.previous or '', part.untold or '') }
    end
    -- 3. Not newer than the mark: what all nodes but one hear.
    local running = lock and lock.holder == by
    return { now, 'taken', running and '1' or '0', unpack(flat) }
  end

  -- 4. Too early by this server's clock.
  if timed and now < ARGV[8] then return { now, 'early' } end
  open = call('ZRANGE', KEYS[3], '0', '-1')

  -- 5. Not to be run. 6. Another run has the lock.
  local consumed, blocked_by = ARGV[9], ''
  if consumed == 'run' or consumed == 'run-or-consume' then
    if lock then
      if not (timed and now >= tick .. '000' and consumed == 'run-or-consume') then
        return { now, 'held', tostring(call('PTTL', KEYS[1])), unpack(lock_flat) }
      end
      consumed, blocked_by = 'skipped-overlap', lock.run
    else
      consumed = nil
    end
  end

  if timed then
    previous = mark_was
    untold = mark_untold or ''
    local passes = mark_tick and mark_schedule == schedule
      and (after == '' or after > mark_tick)
    if passes or consumed then
      untold = untold_after({ tick = mark_tick, schedule = mark_schedule, untold = mark_untold },
        { run = run, node = ARGV[3], tick = tick, schedule = schedule, after = after },
        consumed, blocked_by)
    end
  end
  if consumed then
    local how = blocked_by == '' and consumed or consumed .. ' ' .. blocked_by
    if timed then
      call('HSET', KEYS[2], 'tick', tick, 'schedule', schedule, 'how', how, 'holder', holder,
        'run', run, 'node', ARGV[3], 'previous', previous, 'at', now .. ' ' .. ARGV[10],
        'untold', untold)
    end
    return { now, 'consumed', how, with_untold(previous, untold) }
  end

  -- 7. Granted. Microseconds of today are 16 digits and far below 2^53, so that adding one to
  -- such a number is exact; the largest exact one is refused.
  token = now:sub(3)
  if mark_token and mark_token >= token then
    if mark_token >= '9007199254740991' then
      return redis.error_reply('TIDELOCK the token has no successor')
    end
    token = string.format('%016.0f', tonumber(mark_token) + 1)
  end
  if timed then
    call('HSET', KEYS[2], 'token', token, 'tick', tick, 'schedule', schedule,
      'how', 'granted ' .. token, 'holder', holder, 'run', run, 'node', ARGV[3],
      'previous', previous, 'at', now .. ' ' .. ARGV[10])
    -- What is untold goes on with the open run.
    if mark_untold then call('HDEL', KEYS[2], 'untold') end
  else
    call('HSET', KEYS[2], 'token', token)
  end
  call('HSET', KEYS[1], 'lease', token .. ' ' .. holder, 'run', run, 'node', ARGV[3],
    'previous', previous)
  call('PEXPIRE', KEYS[1], ARGV[7])
  local entry = token .. ' ' .. run .. ' ' .. ARGV[4]
  if untold ~= '' then entry = entry .. '\n' .. untold end
  call('ZADD', KEYS[3], token, entry)
end

-- What is untold is the second line of an open run.
local reply = { now, 'granted', token, previous }
for i = 1, #open do
  if open[i]:sub(1, 16) ~= token then
    reply[#reply + 1] = open[i]
  else
    untold = open[i]:match('\n(.*)$') or ''
  end
end
if untold ~= '' then reply[4] = with_untold(previous, untold) end
