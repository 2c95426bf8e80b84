-- Part of begin, finish and save: stores a record.
--
-- A record is a text: "saved state token count ended rest", saved being this server's clock in
-- milliseconds, count the number of ticks that did not run (20 digits), '-' what is not there, and
-- rest nothing that a script looks into. It stands in the hash `records` under its run id; its
-- place is its score in one of three sorted sets, by what it is: running, runs (ended) or skipped
-- (ticks that did not run). A run keeps its place from its first record to its last.
--
-- key:    running, runs, skipped, records.
-- limits: keep (how many of a kind), max_age (milliseconds).
-- new:    state, token, tail (count, ended and rest with blanks between).
--
-- The cost does not depend on how long the history is: look-ups by id, and the oldest that are
-- over the limits, which one save brings at most a few of. A run begins and ends with as few
-- commands as can be: most of what a script costs is its commands.

local function shelf(key, state)
  if state == 'running' then return key.running end
  if state == 'missed' or state:sub(1, 8) == 'skipped-' then return key.skipped end
  return key.runs
end

local function text(now, state, token, tail)
  return now:sub(3, 15) .. ' ' .. state .. ' ' .. token .. ' ' .. tail
end

-- A place behind all others.
local function next_place(key)
  local place = redis.call('HINCRBY', key.records, 'next', 1)
  if place == 1 then
    -- The count is new, or went with the hash: it goes on from the places that are taken.
    for _, set in ipairs({ key.running, key.runs, key.skipped }) do
      local newest = redis.call('ZREVRANGE', set, 0, 0, 'WITHSCORES')[2]
      place = math.max(place, newest and tonumber(newest) + 1 or 1)
    end
    redis.call('HSET', key.records, 'next', place)
  end
  return place
end

-- What is over the limits goes, oldest first; what runs is passed over. `place` is that of the record
-- that was stored, and `newest` 1 where it runs and is newer than all that have ended, else 0.
local function trim(key, limits, now, set, place, newest)
  local count = redis.call('ZCARD', set)
  local running = set == key.runs and redis.call('ZCARD', key.running) or 0
  -- Records of a full history push each other out: their ages are looked at now and then.
  local aging = newest == 0 and (count < limits.keep or place % 8 == 0)
  for _ = 1, 1000 do
    local over = count + running > limits.keep
    if count == 0 or not (over or aging) then break end
    local oldest = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
    if over and count - 1 + newest < limits.keep then
      local newer = redis.call('ZCOUNT', key.running, '(' .. oldest[2], '+inf')
      over = count - 1 + newer >= limits.keep
    end
    if not over then
      local stored = redis.call('HGET', key.records, oldest[1])
      local saved = stored and tonumber((stored:match('^%d+')))
      if saved and saved >= tonumber(now:sub(1, 15)) - limits.max_age then break end
    end
    redis.call('ZREM', set, oldest[1])
    redis.call('HDEL', key.records, oldest[1])
    count = count - 1
  end
end

-- Any record, over whatever is there.
local function save(key, limits, now, run, new)
  local to, from, place = shelf(key, new.state), nil, nil
  local token, tail = new.token, new.tail
  if to ~= key.running and new.state ~= 'abandoned' then
    -- The record of one of those that run says so, and yields.
    place = redis.call('ZSCORE', key.running, run)
    if place then from = key.running end
  end
  local stored = not place and redis.call('HGET', key.records, run)
  local old_state, old_token, old_count, _, old_rest
  if stored then
    old_state, old_token, old_count, _, old_rest =
      stored:match('^%d+ (%S+) (%S+) (%S+) (%S+) (.*)$')
  end
  if old_state then
    from = shelf(key, old_state)
    local count, ended = tail:match('^(%S+) (%S+) ')
    -- A final state yields to nothing, abandoned to the run's own end, ticks that did not run to
    -- more of the same. What is no record yields to any.
    local yields = old_state == 'running'
      or (old_state == 'abandoned' and new.state ~= 'running' and new.state ~= 'abandoned')
      or (from == key.skipped and new.state == old_state and count > old_count)
    if not yields then return end
    if new.state == 'abandoned' then
      -- Whoever writes this knows less than the record that it closes.
      tail = old_count .. ' ' .. ended .. ' ' .. old_rest
      if old_token ~= '-' then token = old_token end
    end
    place = redis.call('ZSCORE', from, run)
  elseif not place and (stored or to ~= key.running) then
    -- A record that was lost or spoilt may have left its place behind, in any of the sets.
    for _, set in ipairs({ key.running, key.runs, key.skipped }) do
      local score = redis.call('ZSCORE', set, run)
      if score then from, place = set, score end
    end
  end
  if not place then place = next_place(key) end
  if from ~= to then
    redis.call('ZADD', to, place, run)
    if from then redis.call('ZREM', from, run) end
  end
  redis.call('HSET', key.records, run, text(now, new.state, token, tail))
  trim(key, limits, now, to == key.skipped and to or key.runs, place, 0)
end

-- The record of a run that was granted just now, of which nothing is stored as a rule.
local function start(key, limits, now, run, new)
  local place = next_place(key)
  if redis.call('ZADD', key.running, 'NX', place, run) == 1 then
    local stored = text(now, new.state, new.token, new.tail)
    if redis.call('HSETNX', key.records, run, stored) == 1 then
      return trim(key, limits, now, key.runs, place, 1)
    end
    redis.call('ZREM', key.running, run)
  end
  save(key, limits, now, run, new)
end

-- Either, with what went wrong as a text ('' for nothing): what a script wrote before stands.
local function try(store, key, limits, now, run, new)
  local stored, failure = pcall(store, key, limits, now, run, new)
  if stored then return '' end
  if type(failure) == 'table' then failure = failure.err end
  return tostring(failure or 'the record was not stored')
end
