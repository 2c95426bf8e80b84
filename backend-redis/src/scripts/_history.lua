-- Part of begin, finish and save: stores a record.
--
-- A record is a text: "saved state token count ended rest", saved being this server's clock in
-- milliseconds, count the number of ticks that did not run (20 digits), '-' what is not there, and
-- rest nothing that a script looks into. It stands in the hash `records` under its run id; its
-- place is its score in one of three sorted sets, by what it is: running, runs (ended) or skipped
-- (ticks that did not run). A run keeps its place from its first record to its last.
--
-- keep is how many of a kind are kept, max_age is milliseconds, and tail is count, ended and rest
-- with blanks between. Keys and all else are given one by one: see below.
--
-- The cost does not depend on how long the history is: look-ups by id, and the oldest that are
-- over the limits, which one save brings at most a few of. Most of what a script costs is its
-- commands, and the tables, functions and variables of theirs that it makes anew at each call: a run
-- begins and ends with few of them.

-- What is over the limits goes, oldest first; what runs is passed over. `newest` is 1 where what was
-- stored runs and is newer than all that have ended, else 0; ticks that did not run have no `running`.
-- `place`, where it is told, is that of a run which has ended.
local function trim(running, set, records, keep, max_age, now, newest, place)
  local count = redis.call('ZCARD', set)
  local going = running and redis.call('ZCARD', running) or 0
  -- Runs of a full history push each other out: their ages are looked at now and then.
  local aging = newest == 0 and (not place or count < keep or place % 8 == 0)
  for _ = 1, 1000 do
    local over = count + going > keep
    if count == 0 or not (over or aging) then break end
    if over and count - 1 + newest >= keep then
      redis.call('HDEL', records, redis.call('ZPOPMIN', set)[1])
    else
      local oldest = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
      if over then
        local newer = redis.call('ZCOUNT', running, '(' .. oldest[2], '+inf')
        over = count - 1 + newer >= keep
      end
      if not over then
        local text = redis.call('HGET', records, oldest[1])
        local saved = text and tonumber((text:match('^%d+')))
        if saved and saved >= tonumber(now:sub(1, 15)) - max_age then break end
      end
      redis.call('ZREM', set, oldest[1])
      redis.call('HDEL', records, oldest[1])
    end
    count = count - 1
  end
end

-- Any record, over whatever is there.
local function save(running, runs, skipped, records, keep, max_age, now, run, state, token, tail)
  local function shelf(state)
    if state == 'running' then return running end
    if state == 'missed' or state:sub(1, 8) == 'skipped-' then return skipped end
    return runs
  end

  local to, from, place = shelf(state), nil, nil
  local stored = redis.call('HGET', records, run)
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
    place = redis.call('ZSCORE', from, run)
  elseif stored or to ~= running then
    -- A record that was lost or spoilt may have left its place behind, in any of the sets.
    for _, set in ipairs({ running, runs, skipped }) do
      local score = redis.call('ZSCORE', set, run)
      if score then from, place = set, score end
    end
  end
  if not place then
    place = redis.call('HINCRBY', records, 'next', 1)
    if place <= 2 then
      -- The count is new, or went with the hash: it goes on from the places that are taken.
      for _, set in ipairs({ running, runs, skipped }) do
        local newest = redis.call('ZREVRANGE', set, 0, 0, 'WITHSCORES')[2]
        place = math.max(place, newest and tonumber(newest) + 1 or 1)
      end
      redis.call('HSET', records, 'next', place)
    end
  end
  if from ~= to then
    redis.call('ZADD', to, place, run)
    if from then redis.call('ZREM', from, run) end
  end
  redis.call('HSET', records, run,
    now:sub(3, 15) .. ' ' .. state .. ' ' .. token .. ' ' .. tail)
  local set = to == skipped and skipped or runs
  trim(set == runs and running or nil, set, records, keep, max_age, now, 0)
end

-- What went wrong in a function that was called with pcall, as a text; '' for nothing.
local function why_not(stored, failure)
  if stored then return '' end
  if type(failure) == 'table' then failure = failure.err end
  return tostring(failure or 'the record was not stored')
end
