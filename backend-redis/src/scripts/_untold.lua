-- Part of acquire and begin: what there is to tell of ticks that did not run, once the mark moves.
--
-- A text of entries, each closed with ';', the parts of each apart by ',':
--   's', state, schedule, run, first tick, last tick, count, run in the way or '', node
--                                                                               consumed ticks
--   'p', run, tick and schedule of the mark as it was, tick, node               ticks passed over
-- Ticks are 15 digits, nodes are hexadecimal: they may contain anything.
--
-- consumed: the state of the tick if it does not run, else nil.
local function untold_after(mark, ask, consumed, blocked_by)
  local untold = mark.untold or ''
  if ask.tick == '' then return '' end
  local passes = mark.tick and mark.schedule == ask.schedule
      and (ask.after == '' or ask.after > mark.tick)
  if not (passes or consumed) then return untold end

  local node = ask.node:gsub('.', function(char) return string.format('%02x', char:byte()) end)
  -- At most 16 of a kind: then the oldest goes.
  local kinds = { s = {}, p = {} }
  local function keep(kind, place, ...)
    local entries = kinds[kind]
    entries[place or #entries + 1] = table.concat({ kind, ... }, ',')
    if #entries > 16 then table.remove(entries, 1) end
  end
  for kind, entry in untold:gmatch('([sp]),([^;]*)') do keep(kind, nil, entry) end
  if passes then keep('p', nil, ask.run, mark.tick, mark.schedule, ask.tick, node) end
  if consumed then
    local run, first, count, place = ask.run, ask.tick, 0, nil
    for i, entry in ipairs(kinds.s) do
      local state, schedule, its_run, its_first, its_count =
        entry:match('^s,([^,]*),(%x+),(%x+),(%d+),%d+,(%d+),')
      if state == consumed and schedule == ask.schedule then
        run, first, count, place = its_run, its_first, tonumber(its_count), i
      end
    end
    keep('s', place, consumed, ask.schedule, run, first, ask.tick,
      string.format('%.0f', count + 1), blocked_by, node)
  end
  local all = kinds.s
  for _, entry in ipairs(kinds.p) do all[#all + 1] = entry end
  return table.concat(all, ';') .. ';'
end

-- The mark as it was, with what is untold.
local function with_untold(previous, untold)
  return untold == '' and previous or previous .. '\n' .. untold
end
