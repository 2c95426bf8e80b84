-- RecordStore::list: the newest records, newest first.
--
-- KEYS:  1 running, 2 runs, 3 skipped, 4 records
-- ARGV:  1 limit, 2 keep, 3 max_age (milliseconds)
-- Reply: { run id, record, run id, record, ... }
--
-- Atomic so that a run that ends meanwhile is neither missing nor there twice. Merges the three
-- sets by their scores and reads no more of each than it gives back, save what is over the limits.
local limit, keep = tonumber(ARGV[1]), tonumber(ARGV[2])
local oldest_kept = tonumber(now:sub(1, 15)) - tonumber(ARGV[3])
local page = math.min(limit, 100) - 1
local heads = {}
for i = 1, 3 do heads[i] = { set = KEYS[i], from = 0, at = 1, part = {} } end

-- The newest of a set that was not taken yet: run id and place.
local function head(h)
  if h.at > #h.part and not h.over then
    h.part, h.at = call('ZRANGE', h.set, h.from, h.from + page, 'WITHSCORES'), 1
    h.from = h.from + page + 1
    h.over = #h.part == 0
  end
  return h.part[h.at], tonumber(h.part[h.at + 1])
end

-- How many runs, and how many ticks that did not run, are newer than the next one.
local reply, found, runs, skipped = {}, 0, 0, 0
while found < limit do
  local newest, run, place
  for i = 1, 3 do
    local id, score = head(heads[i])
    if id and (not place or score < place) then newest, run, place = heads[i], id, score end
  end
  if not newest then break end
  newest.at = newest.at + 2
  local newer = newest == heads[3] and skipped or runs
  if newest == heads[3] then skipped = skipped + 1 else runs = runs + 1 end
  local text = call('HGET', KEYS[4], run)
  local saved = text and tonumber((text:match('^%d+')))
  if text and (newest == heads[1] or (saved and saved >= oldest_kept and newer < keep)) then
    reply[#reply + 1], reply[#reply + 2] = run, text
    found = found + 1
  end
end
return reply
