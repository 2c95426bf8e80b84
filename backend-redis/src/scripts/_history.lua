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
-- new:    state, token, count, ended, rest.
--
-- The cost does not depend on how long the history is: look-ups by id, and the oldest that are
-- over the limits, which one save brings at most a few of.
local function save(key, limits, now, run, new)
  local function shelf(state)
    if state == 'running' then return key.running end
    if state == 'missed' or state:sub(1, 8) == 'skipped-' then return key.skipped end
    return key.runs
  end
  local function parts(text)
    return text:match('^(%d+) (%S+) (%S+) (%S+) (%S+) (.*)$')
  end

  local to, from, place = shelf(new.state), nil, nil
  local token, count, rest = new.token, new.count, new.rest
  local stored = redis.call('HGET', key.records, run)
  local _, old_state, old_token, old_count, _, old_rest
  if stored then _, old_state, old_token, old_count, _, old_rest = parts(stored) end
  if old_state then
    from = shelf(old_state)
    -- A final state yields to nothing, abandoned to the run's own end, ticks that did not run to
    -- more of the same. What is no record yields to any.
    local yields = old_state == 'running'
      or (old_state == 'abandoned' and new.state ~= 'running' and new.state ~= 'abandoned')
      or (from == key.skipped and new.state == old_state and new.count > old_count)
    if not yields then return end
    if new.state == 'abandoned' then
      -- Whoever writes this knows less than the record that it closes.
      count, rest = old_count, old_rest
      if old_token ~= '-' then token = old_token end
    end
    place = redis.call('ZSCORE', from, run)
  elseif stored or to ~= key.running then
    -- A record that was lost or spoilt may have left its place behind, in any of the sets.
    for _, set in ipairs({ key.running, key.runs, key.skipped }) do
      local score = redis.call('ZSCORE', set, run)
      if score then from, place = set, score end
    end
  end
  if not place then
    place = redis.call('HINCRBY', key.records, 'next', 1)
    if place == 1 then
      -- The count is new, or went with the hash: it goes on from the places that are taken.
      for _, set in ipairs({ key.running, key.runs, key.skipped }) do
        local newest = redis.call('ZREVRANGE', set, 0, 0, 'WITHSCORES')[2]
        place = math.max(place, newest and tonumber(newest) + 1 or 1)
      end
      redis.call('HSET', key.records, 'next', place)
    end
  end
  if from ~= to then
    redis.call('ZADD', to, place, run)
    if from then redis.call('ZREM', from, run) end
  end
  redis.call('HSET', key.records, run, table.concat(
    { now:sub(3, 15), new.state, token, count, new.ended, rest }, ' '))

  -- What is over the limits goes, oldest first; what runs is passed over.
  local trimmed = to == key.skipped and key.skipped or key.runs
  local oldest_kept = tonumber(now:sub(1, 15)) - limits.max_age
  for _ = 1, 1000 do
    local oldest = redis.call('ZRANGE', trimmed, 0, 0, 'WITHSCORES')
    if #oldest == 0 then break end
    local newer = redis.call('ZCARD', trimmed) - 1
    if trimmed == key.runs then
      newer = newer + redis.call('ZCOUNT', key.running, '(' .. oldest[2], '+inf')
    end
    if newer < limits.keep then
      local text = redis.call('HGET', key.records, oldest[1])
      local saved = text and tonumber((text:match('^%d+')))
      if saved and saved >= oldest_kept then break end
    end
    redis.call('ZREM', trimmed, oldest[1])
    redis.call('HDEL', key.records, oldest[1])
  end
end

-- The same, with what went wrong as a text ('' for nothing): what a script wrote before stands.
local function try_save(key, limits, now, run, new)
  local saved, failure = pcall(save, key, limits, now, run, new)
  if saved then return '' end
  if type(failure) == 'table' then failure = failure.err end
  return tostring(failure or 'the record was not stored')
end
