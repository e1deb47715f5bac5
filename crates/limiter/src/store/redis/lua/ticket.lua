-- What a request leaves under its id, so that it can be answered again or taken back.
--
--   byte  0   1: admitted; 2: taken back, or not to be admitted any more
--         1   nothing
--         2   until when it counts, 6 bytes
--         8   what was asked for, as 8 bytes of a hash
--        16   the attempt that left it, 8 bytes at random; zeros once it was answered again
--        24   the id under which it was charged, 8 bytes
--        32   the answer

---- find
-- A request that comes again gets the first answer, and the id under which that was charged.
local kept = call('GET', KEYS[1])
if kept then
  local state, _, until_ms, asked, attempt = unpack('<BBI6c8c8', kept)
  -- An end that far ahead was set by a clock that was wrong.
  if until_ms > now and until_ms <= now + 120000 then
    if state == 2 then
      if attempt == ARGV[3] then
        return 'undone'
      end
    elseif asked ~= ARGV[1] then
      return 'conflict'
    else
      -- Somebody else counts on this answer too: from now on it belongs to no attempt, and none can take it back.
      local nobody = string.rep('\0', 8)
      if attempt ~= nobody then
        call('SETRANGE', KEYS[1], '16', nobody)
      end
      return 'replayed' .. sub(kept, 25)
    end
  end
end

---- keep
save(KEYS[1], pack('<BBI6c8c8c8', 1, 0, now + ARGV[2], ARGV[1], ARGV[3], holder) .. row, now + ARGV[2])

---- undo
-- The charge may still be on its way: then it finds this, and is not admitted. What another attempt was admitted stays.
local kept, undoes, other = call('GET', KEYS[1]), false, false
if kept then
  local state, _, until_ms, _, attempt = unpack('<BBI6c8c8', kept)
  undoes = state == 1 and attempt == ARGV[3]
  other = state == 1 and attempt ~= ARGV[3] and until_ms > now
end
if not other then
  save(KEYS[1], pack('<BBI6c8c8', 2, 0, now + ARGV[2], ARGV[1], ARGV[3]), now + ARGV[2])
end
