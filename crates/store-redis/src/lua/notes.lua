-- Notes of all processes with this store: a hash with a field for every note (`n` and its id) and one for its version (`v`). A
-- note is the time at which it expires, a blank, and its text.
local key, verb = KEYS[1], ARGV[1]

-- Raises the version. It never repeats, even if the server lost writes: it is at least the time in microseconds.
local function turn()
  local time = call('TIME')
  local version = math.max((call('HGET', key, 'v') or 0) + 1, time[1] * 1000000 + time[2])
  call('HSET', key, 'v', string.format('%d', version))
end

if verb == 'read' then
  local version = call('HGET', key, 'v') or '0'
  if version == ARGV[3] then
    return version
  end
  local parts, fields = { version, ' ' }, call('HGETALL', key)
  for at = 1, #fields, 2 do
    if fields[at] ~= 'v' then
      local id, note = sub(fields[at], 2), fields[at + 1]
      parts[#parts + 1] = pack('<I4I4', #id, #note)
      parts[#parts + 1] = id
      parts[#parts + 1] = note
    end
  end
  return table.concat(parts)
elseif verb == 'post' then
  local field, live, over = 'n' .. ARGV[3], 0, {}
  local fields = call('HGETALL', key)
  for at = 1, #fields, 2 do
    if fields[at] ~= 'v' and fields[at] ~= field then
      if string.match(fields[at + 1], '^%d+') + 0 > now then
        live = live + 1
      else
        over[#over + 1] = fields[at]
      end
    end
  end
  if live >= ARGV[5] + 0 then
    return 'full'
  end
  for at = 1, #over do
    call('HDEL', key, over[at])
  end
  call('HSET', key, field, ARGV[4])
  turn()
  return 'done'
elseif verb == 'withdraw' then
  if call('HDEL', key, 'n' .. ARGV[3]) == 0 then
    return 'absent'
  end
  turn()
  return 'done'
end
turn()
return 'done'
