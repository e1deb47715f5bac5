-- Ticket: the record of a request under an id, by which it is answered again or undone.
--
--   byte  0   1: admitted; 2: undone, or not to be admitted any more
--         1   number of meters that had a debt
--         2   expiry, 6 bytes
--         8   digest of the request, 8 bytes
--        16   attempt that wrote it, 8 random bytes; zeros once it was answered again
--        24   id under which it was charged, 8 bytes
--        32   answer
--         …   for every meter that had a debt, 43 bytes: index of the limit, debt before and after. Units subtracted from the latter
--             would have drained at this quota meanwhile

---- find
-- A repeated request gets the first answer, and the id under which it was charged.
local stored = call('GET', KEYS[1])
if stored then
  local state, meters, until_ms, request, attempt = unpack('<BBI6c8c8', stored)
  -- An end that far ahead was set by a clock that was wrong.
  if until_ms > now and until_ms <= now + 120000 then
    if state == 2 then
      if attempt == ARGV[3] then
        return 'undone'
      end
    elseif request ~= ARGV[1] then
      return 'conflict'
    else
      -- Another caller relies on this answer too: from now on it belongs to no attempt, and none can undo it.
      local none = string.rep('\0', 8)
      if attempt ~= none then
        call('SETRANGE', KEYS[1], '16', none)
      end
      return 'replayed' .. sub(stored, 25, #stored - 43 * meters)
    end
  end
end

---- store
save(KEYS[1], pack('<BBI6c8c8c8', 1, #before / 43, now + ARGV[2], ARGV[1], ARGV[3], holder) .. row .. before, now + ARGV[2])

---- undo
-- The charge may still be on its way: then it finds this, and is not admitted. The charge of another attempt stays.
local stored, undoes, other, debts = call('GET', KEYS[1]), false, false, 0
if stored then
  local state, meters, until_ms, _, attempt = unpack('<BBI6c8c8', stored)
  debts = #stored - 43 * meters + 1
  undoes = state == 1 and attempt == ARGV[3]
  other = state == 1 and attempt ~= ARGV[3] and until_ms > now
end
if not other then
  save(KEYS[1], pack('<BBI6c8c8', 2, 0, now + ARGV[2], ARGV[1], ARGV[3]), now + ARGV[2])
end

---- restore
-- Restores the value from before, unless another request has written it since.
local restored, from = false, debts
while from < #stored and not restored do
  if string.byte(stored, from) == INDEX and call('GET', key_) == sub(stored, from + 22, from + 42) then
    local _, last, debt, under = unpack('<BI6I7I7', stored, from + 1)
    save(key_, sub(stored, from + 1, from + 21), last + math.ceil(debt / under))
    restored = true
  end
  from = from + 43
end
