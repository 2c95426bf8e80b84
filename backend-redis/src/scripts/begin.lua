-- Backend::begin: asks for a tick; a grant is recorded and closes what others left.
--
-- KEYS:  1 lock, 2 mark, 3 open, 4 running, 5 runs, 6 skipped, 7 records
-- ARGV:  1 to 13 as acquire.lua; 14 keep, 15 max_age; of the record 16 state, 17 tail
-- Reply: as _acquire.lua says; second place: why a record was not stored, or ''.
--
-- Atomic so that the record of a run exists if and only if it was granted. The grant stands when
-- the record is refused. Safe to repeat, like acquire; a record is stored once a run.
local key = {
  lock = KEYS[1], mark = KEYS[2], open = KEYS[3],
  running = KEYS[4], runs = KEYS[5], skipped = KEYS[6], records = KEYS[7],
}
local now = clock()
local reply = acquire(key, {
  holder = ARGV[1], run = ARGV[2], node = ARGV[3], node_json = ARGV[4], tick = ARGV[5],
  tick_text = ARGV[6], schedule = ARGV[7], ttl = ARGV[8], earliest = ARGV[9], intent = ARGV[10],
  if_held = ARGV[11], skew = ARGV[12], after = ARGV[13],
}, now)
if reply[3] ~= 'granted' then return reply end

local limits = { keep = tonumber(ARGV[14]), max_age = tonumber(ARGV[15]) }
local at = string.format('@%.0f.%s', tonumber(now:sub(1, 12)), now:sub(13))
local failure = ''
-- An open run older than the newest that are kept, this run among them, and without a record had
-- one that has gone: it would come back as the newest, and push out one that is newer.
local oldest_kept = #reply - limits.keep + 2
for i = 7, #reply do
  local token, run, tick, node = reply[i]:match('^(%d+) (%x+) (%S+) ([^\n]*)')
  if token and #run == 32
      and (i >= oldest_kept or redis.pcall('HGET', key.records, run)) then
    local why = try(save, key, limits, now, run, {
      state = 'abandoned', token = token,
      tail = '- ' .. at .. ' ' .. tick .. ' ' .. at .. ' {"node":' .. node .. '}',
    })
    if why ~= '' then failure = why end
  end
end
local why = try(ARGV[16] == 'running' and start or save, key, limits, now, ARGV[2], {
  state = ARGV[16], token = reply[4], tail = ARGV[17],
})
if why ~= '' then failure = why end
reply[2] = failure
return reply
