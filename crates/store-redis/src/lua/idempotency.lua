-- Idempotency record, or ticket: what a request leaves under its id, so that it can be answered again or taken back.
--
--   byte  0   1: admitted; 2: taken back, or not to be admitted any more
--         1   how many meters had a debt
--         2   until when it counts, 6 bytes
--         8   what was asked for, as 8 bytes of a hash
--        16   the attempt that left it, 8 bytes at random; zeros once it was answered again
--        24   the id under which it was charged, 8 bytes
--        32   the answer
--         …   for every meter that had a debt, 43 bytes: the place of the limit, the debt as it was, and as it was written. Units taken off the
--             latter again would have drained at this quota meanwhile, whatever comes next

---- find
-- A request that comes again gets the first answer, and the id under which that was charged.
local kept = call('GET', KEYS[1])
if kept then
  local state, meters, until_ms, asked, attempt = unpack('<BBI6c8c8', kept)
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
      return 'replayed' .. sub(kept, 25, #kept - 43 * meters)
    end
  end
end

---- store
save(KEYS[1], pack('<BBI6c8c8c8', 1, #before / 43, now + ARGV[2], ARGV[1], ARGV[3], holder) .. row .. before, now + ARGV[2])

---- undo
-- The charge may still be on its way: then it finds this, and is not admitted. What another attempt was admitted stays.
local kept, undoes, other, debts = call('GET', KEYS[1]), false, false, 0
if kept then
  local state, meters, until_ms, _, attempt = unpack('<BBI6c8c8', kept)
  debts = #kept - 43 * meters + 1
  undoes = state == 1 and attempt == ARGV[3]
  other = state == 1 and attempt ~= ARGV[3] and until_ms > now
end
if not other then
  save(KEYS[1], pack('<BBI6c8c8', 2, 0, now + ARGV[2], ARGV[1], ARGV[3]), now + ARGV[2])
end

---- restore
-- Puts back what was there before, unless somebody else has written to it since.
local restored, from = false, debts
while from < #kept and not restored do
  if string.byte(kept, from) == PLACE and call('GET', key_) == sub(kept, from + 22, from + 42) then
    local _, last, debt, under = unpack('<BI6I7I7', kept, from + 1)
    save(key_, sub(kept, from + 1, from + 21), last + math.ceil(debt / under))
    restored = true
  end
  from = from + 43
end
