-- Forgets a subject: all of its keys. A log with leases keeps its rows, and has a higher epoch, by which nodes forget their part.
for at = 1, #KEYS do
  local value = ARGV[at] == 'log' and redis.call('GETRANGE', KEYS[at], '0', '3086') or ''
  if string.byte(value) == 24 and string.byte(value, 15) > 0 then
    local format, last, epoch, count = struct.unpack('<BI6I7B', value)
    epoch = math.max(epoch + 1, last * 1000)
    local rows = string.sub(value, 16, 15 + 48 * count)
    redis.call('SET', KEYS[at], struct.pack('<BI6I7B', format, last, epoch, count) .. rows, 'KEEPTTL')
  else
    redis.call('DEL', KEYS[at])
  end
end
return 'done'
