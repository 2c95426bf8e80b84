-- Part of acquire and begin: takes a tick. The numbers are those of the contract of
-- LockBackend::acquire; the first that applies answers.
--
-- key:   lock, mark and open, as the page on the layout describes them.
-- ask:   holder, run, node, node_json, tick (15 digits: milliseconds since 1970; '' for a manual
--        run), tick_text, after (the tick before, or ''), schedule, ttl (milliseconds), earliest (18 digits: the first microsecond
--        at which the tick is not too early), intent ('run', or the state to skip with), if_held
--        ('leave' or 'consume'), skew.
-- reply: { now, '', what, ... }; the second place is for begin. What:
--        'granted', token, previous, untold, another open run, ...
--        'consumed', state, blocked_by, previous, untold
--        'taken', '1' if its run holds the lock, then field and value of each part of the mark
--        'early'
--        'held', milliseconds left, then field and value of each part of the lock
--        'expired', token
--
-- All reads come before the first write, so that a key of the wrong type changes nothing, and what
-- goes into a reply that tells of a write is looked at before, so that no caller finds out behind it
-- that it makes no sense; the first write is one that a full server refuses, so that it, too, changes
-- nothing.
local function acquire(key, ask, now)
  local function read(name)
    local flat, fields = redis.call('HGETALL', name), {}
    for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
    return flat, fields
  end
  local function is(text, length, other)
    return text and #text == length and not text:find(other)
  end

  local lock_flat, lock = read(key.lock)
  local mark_flat, mark = read(key.mark)
  local open = redis.call('ZRANGE', key.open, 0, -1)
  local held = #lock_flat > 0
  if held and not (lock.holder and is(lock.run, 32, '%X') and is(lock.token, 16, '%D')) then
    return redis.error_reply('TIDELOCK the lock makes no sense')
  end
  if mark.tick and not (is(mark.tick, 15, '%D') and is(mark.schedule, 16, '%X')
      and mark.holder and mark.how) then
    return redis.error_reply('TIDELOCK the mark makes no sense')
  end
  if mark.token and not is(mark.token, 16, '%D') then
    return redis.error_reply('TIDELOCK the token makes no sense')
  end

  -- What is untold is the second line of an open run.
  local function granted(token, previous, untold)
    local reply = { now, '', 'granted', token, previous, untold }
    for _, run in ipairs(open) do
      if run:sub(1, 16) ~= token then
        reply[#reply + 1] = run
      else
        reply[6] = run:match('\n(.*)$') or ''
      end
    end
    return reply
  end

  -- 1. This very holder has it: the same answer, and a new life.
  if held and lock.holder == ask.holder then
    redis.call('PEXPIRE', key.lock, ask.ttl)
    return granted(lock.token, lock.previous or '', '')
  end

  local timed = ask.tick ~= ''
  if timed and mark.tick and mark.tick >= ask.tick then
    -- 2. This very holder moved the mark here.
    if mark.tick == ask.tick and mark.holder == ask.holder then
      if mark.how == 'granted' then return { now, '', 'expired', mark.granted or '' } end
      return { now, '', 'consumed', mark.how, mark.blocked_by or '', mark.previous or '',
        mark.untold or '' }
    end
    -- 3. Not newer than the mark.
    local running = held and lock.holder == mark.holder
    local reply = { now, '', 'taken', running and '1' or '0' }
    for _, part in ipairs(mark_flat) do reply[#reply + 1] = part end
    return reply
  end

  -- 4. Too early by this server's clock.
  if timed and now < ask.earliest then return { now, '', 'early' } end

  local previous = ''
  if timed and mark.tick then previous = mark.tick .. ' ' .. mark.schedule end
  local function move(how, token, blocked_by, untold)
    redis.call('HSET', key.mark, 'tick', ask.tick, 'schedule', ask.schedule, 'how', how,
      'granted', token, 'blocked_by', blocked_by, 'holder', ask.holder, 'run', ask.run,
      'node', ask.node, 'previous', previous, 'at', now, 'skew', ask.skew)
    if untold ~= '' then
      redis.call('HSET', key.mark, 'untold', untold)
    elseif mark.untold then
      redis.call('HDEL', key.mark, 'untold')
    end
  end
  local function consume(how, blocked_by)
    local untold = untold_after(mark, ask, how, blocked_by)
    if timed then move(how, '', blocked_by, untold) end
    return { now, '', 'consumed', how, blocked_by, previous, untold }
  end

  -- 5. Not to be run.
  if ask.intent ~= 'run' then return consume(ask.intent, '') end

  -- 6. Another run has the lock.
  if held then
    local due = timed and now >= ask.tick .. '000'
    if due and ask.if_held == 'consume' then return consume('skipped-overlap', lock.run) end
    local reply = { now, '', 'held', tostring(redis.call('PTTL', key.lock)) }
    for _, part in ipairs(lock_flat) do reply[#reply + 1] = part end
    return reply
  end

  -- 7. Granted. Microseconds of today are 16 digits and far below 2^53, so that adding one to
  -- such a number is exact; the largest exact one is refused.
  local token = now:sub(3)
  if mark.token and mark.token >= token then
    if mark.token >= '9007199254740991' then
      return redis.error_reply('TIDELOCK the token has no successor')
    end
    token = string.format('%016.0f', tonumber(mark.token) + 1)
  end
  local untold = untold_after(mark, ask, nil, '')
  redis.call('HSET', key.mark, 'token', token)
  -- What is untold goes on with the open run.
  if timed then move('granted', token, '', '') end
  redis.call('HSET', key.lock, 'holder', ask.holder, 'run', ask.run, 'node', ask.node,
    'token', token, 'previous', previous)
  redis.call('PEXPIRE', key.lock, ask.ttl)
  local run = token .. ' ' .. ask.run .. ' ' .. ask.tick_text .. ' ' .. ask.node_json
  if untold ~= '' then run = run .. '\n' .. untold end
  redis.call('ZADD', key.open, token, run)
  return granted(token, previous, untold)
end
