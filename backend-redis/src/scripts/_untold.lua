-- Part of acquire and begin: what there is to tell of ticks that did not run, once the mark moves.
--
-- A text of entries, each closed with ';', the parts of each apart by ',':
--   's', state, run, first tick, last tick, count, run in the way or '', node   consumed ticks
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
  local entries, oldest, passed = {}, nil, 0
  for entry in untold:gmatch('[^;]+') do
    entries[#entries + 1] = entry
    if entry:sub(1, 2) == 'p,' then
      oldest, passed = oldest or #entries, passed + 1
    end
  end
  if passes then
    if passed >= 16 then table.remove(entries, oldest) end
    entries[#entries + 1] = table.concat(
      { 'p', ask.run, mark.tick, mark.schedule, ask.tick, node }, ',')
  end
  if consumed then
    local run, first, count, place = ask.run, ask.tick, 0, #entries + 1
    for i, entry in ipairs(entries) do
      local state, its_run, its_first, its_count = entry:match('^s,([^,]*),(%x+),(%d+),%d+,(%d+),')
      if state == consumed then
        run, first, count, place = its_run, its_first, tonumber(its_count), i
      end
    end
    entries[place] = table.concat(
      { 's', consumed, run, first, ask.tick, string.format('%.0f', count + 1), blocked_by, node },
      ',')
  end
  return table.concat(entries, ';') .. ';'
end
