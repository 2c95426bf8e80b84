-- Part of begin, finish and save: stores a record.
--
-- A record is a text: "saved state token count ended rest", saved being this server's clock in
-- milliseconds, count the number of ticks that did not run (20 digits), '-' what is not there, and
-- rest nothing that a script looks into. It stands in the hash `records` under its run id; its
-- place is its score in one of three sorted sets, by what it is: running, runs (ended) or skipped
-- (ticks that did not run). A run keeps its place from its first record to its last. The newest come
-- first, since a short set is one flat list that is gone through from its head: a place is a number
-- of microseconds since 1970 below zero, that of a run which is stored with its grant its token, that
-- of others this server's clock and a half, which is nobody's token, or what comes just before the
-- newest.
--
-- keep is how many of a kind are kept, and max_age is milliseconds.
--
-- The cost does not depend on how long the history is: look-ups by id, and the oldest that are
-- over the limits, which one save brings at most a few of. Most of what a script costs is its
-- commands, and the tables, functions and variables of theirs that it makes anew at each call: a run
-- begins and ends with few of them, and what it mostly does without is made by one function here.
local function history(running, runs, skipped, records, keep, max_age)
  local H = {}

  -- What is over the limits goes, oldest first; what runs is passed over. Ticks that did not run are
  -- counted by themselves. `going` is how many are known to run that are newer than all of the set.
  function H.trim(set, going)
    local count = call('ZCARD', set)
    local over = math.max(0, math.min(count + going - keep, count, 1000))
    if over > 0 then
      call('HDEL', records, unpack(call('ZRANGE', set, -over, '-1')))
      call('ZREMRANGEBYRANK', set, -over, '-1')
      count = count - over
    end
    for _ = 1, math.min(count, 1000 - over) do
      local oldest = call('ZRANGE', set, '-1', '-1', 'WITHSCORES')
      local newer = set == runs and call('ZCOUNT', running, '-inf', '(' .. oldest[2]) or 0
      if count - 1 + newer < keep then
        local text = call('HGET', records, oldest[1])
        local saved = text and tonumber((text:match('^%d+')))
        if saved and saved >= tonumber(now:sub(1, 15)) - max_age then break end
      end
      call('ZREM', set, oldest[1])
      call('HDEL', records, oldest[1])
      count = count - 1
    end
  end

  local function shelf(state)
    if state == 'running' then return running end
    if state == 'missed' or state:sub(1, 8) == 'skipped-' then return skipped end
    return runs
  end

  -- Any record, over whatever is there: "state token count ended rest".
  function H.save(run, record)
    local state, token, tail = record:match('^(%S+) (%S+) (.*)$')
    local to, from, place = shelf(state), nil, nil
    local stored = call('HGET', records, run)
    local old_state, old_token, old_count, old_rest, _
    if stored then
      old_state, old_token, old_count, _, old_rest =
        stored:match('^%d+ (%S+) (%S+) (%S+) (%S+) (.*)$')
    end
    if old_state then
      from = shelf(old_state)
      local count, ended = tail:match('^(%S+) (%S+) ')
      -- A final state yields to nothing, abandoned to the run's own end, ticks that did not run to
      -- more of the same. What is no record yields to any.
      local yields = old_state == 'running'
        or (old_state == 'abandoned' and state ~= 'running' and state ~= 'abandoned')
        or (from == skipped and state == old_state and count > old_count)
      if not yields then return end
      if state == 'abandoned' then
        -- Whoever writes this knows less than the record that it closes.
        tail = old_count .. ' ' .. ended .. ' ' .. old_rest
        if old_token ~= '-' then token = old_token end
      end
      place = call('ZSCORE', from, run)
    elseif stored or to ~= running then
      -- A record that was lost or spoilt may have left its place behind, in any of the sets.
      for _, set in ipairs({ running, runs, skipped }) do
        local score = call('ZSCORE', set, run)
        if score then from, place = set, score end
      end
    end
    if not place then
      place = '-' .. now:sub(3) .. '.5'
      for _, set in ipairs({ running, runs, skipped }) do
        local newest = tonumber(call('ZRANGE', set, '0', '0', 'WITHSCORES')[2] or 1)
        if newest <= tonumber(place) then
          place = string.format('%.1f', math.floor(newest) - 0.5)
        end
      end
    end
    if from ~= to then
      call('ZADD', to, place, run)
      if from then call('ZREM', from, run) end
    end
    call('HSET', records, run, now:sub(3, 15) .. ' ' .. state .. ' ' .. token .. ' ' .. tail)
    H.trim(to == skipped and skipped or runs, 0)
  end

  -- What went wrong in one of these functions, as a text, if anything did.
  function H.try(step, ...)
    local done, failure = pcall(step, ...)
    if done then return nil end
    if type(failure) == 'table' then failure = failure.err end
    return tostring(failure or 'the record was not stored')
  end

  return H
end
