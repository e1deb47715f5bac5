-- Replaces what a permit recorded for one subject, once.
--
-- The permits of a subject that were used are remembered until what they recorded has left its windows:
--
--   byte  0   format: 1
--         1   permits of 14 bytes each: id 8, until when 6

---- spent
local spent, live, latest = call('GET', KEYS[1]), {}, 0
if spent then
  if string.byte(spent) ~= 1 then
    error(FOREIGN .. KEYS[1])
  end
  for from = 2, #spent, 14 do
    local id, until_ms = unpack('<c8I6', spent, from)
    if until_ms > now then
      if id == holder then
        return 'spent'
      end
      live[#live + 1], latest = sub(spent, from, from + 13), math.max(latest, until_ms)
    end
  end
end
if until_ms <= now then
  return 'expired'
elseif #live >= 128 then
  return 'full'
end

---- spend
latest = math.max(latest, until_ms)
save(KEYS[1], string.char(1) .. table.concat(live) .. pack('<c8I6', holder, until_ms), latest)
return 'settled'
