-- The permits of a subject that are open: a hash with a bit for each.
--
--   h          format 1; generation 8 bytes; next number 6; open permits 4; the first chunk that may be there 6; until when 6;
--              where the search for what is over goes on 6
--   a number   a chunk of 448 permits: until when 6 bytes, open permits 2, a bit for each that is open 56
--
-- A chunk goes when all of its permits are spent, or when what they stand for has left its windows. Its value has 64 bytes, so
-- that a server keeps a few chunks as a list. The generation is the id of the request that began the ledger, which no other has: once
-- the key is gone, whoever comes first begins another, and no permit from before is known.

---- functions
local function ledger_head(key)
  local head = call('HGET', key, 'h')
  if not head then
    return nil
  end
  local format, generation, next, open, first, until_ms, cursor = unpack('<Bc8I6I4I6I6I6', head)
  if format ~= 1 then
    error(FOREIGN .. key)
  end
  if until_ms <= now then
    call('DEL', key)
    return nil
  end
  return generation, next, open, first, until_ms, cursor
end

local function ledger_save(key, generation, next, open, first, until_ms, cursor)
  call('HSET', key, 'h', pack('<Bc8I6I4I6I6I6', 1, generation, next, open, first, until_ms, cursor))
  if EXPIRES then
    call('PEXPIREAT', key, string.format('%d', until_ms))
  end
end

-- Drops chunks that are over, a few at a time: every new chunk takes more than one along.
local function ledger_sweep(key, open, first, last)
  local most = first + 8
  while first < last and first < most do
    local chunk = call('HGET', key, string.format('%d', first))
    if chunk then
      local until_ms, inside = unpack('<I6I2', chunk)
      if until_ms > now then
        break
      end
      open = open - inside
      call('HDEL', key, string.format('%d', first))
    end
    first = first + 1
  end
  return open, first
end

-- Whether there is no room for another permit. What is over behind chunks that last longer is looked for then, some at a time.
local function ledger_full(key)
  local generation, next, open, first, until_ms, cursor = ledger_head(key)
  if not generation or open < 1048576 then
    return false
  end
  local last = (next - next % 448) / 448
  for _ = 1, 256 do
    if cursor < first or cursor > last then
      cursor = first
    end
    local field = string.format('%d', cursor)
    local chunk = call('HGET', key, field)
    if chunk then
      local ends, inside = unpack('<I6I2', chunk)
      if ends <= now then
        open = open - inside
        call('HDEL', key, field)
      end
    end
    cursor = cursor + 1
  end
  ledger_save(key, generation, next, open, first, until_ms, cursor)
  return open >= 1048576
end

-- Opens a permit; without a number where it stands for places in flight alone.
local function ledger_grant(key, numbered, until_ms, id)
  local generation, next, open, first, latest, cursor = ledger_head(key)
  if not generation then
    generation, next, open, first, latest, cursor = id, 0, 0, 0, 0, 0
  end
  latest = math.max(latest, until_ms)
  local number = 281474976710655
  if numbered then
    local place = next % 448
    local index = (next - place) / 448
    local field = string.format('%d', index)
    if place == 0 then
      open, first = ledger_sweep(key, open, first, index)
    end
    local chunk = call('HGET', key, field)
    local ends, inside, bits = until_ms, 0, nil
    if chunk then
      ends, inside = unpack('<I6I2', chunk)
      ends, bits = math.max(ends, until_ms), sub(chunk, 9)
    else
      bits = string.rep('\0', 56)
    end
    local at = (place - place % 8) / 8 + 1
    local byte = string.char(string.byte(bits, at) + 2 ^ (place % 8))
    bits = sub(bits, 1, at - 1) .. byte .. sub(bits, at + 1)
    call('HSET', key, field, pack('<I6I2', ends, inside + 1) .. bits)
    number, next, open = next, next + 1, open + 1
  end
  ledger_save(key, generation, next, open, first, latest, cursor)
  return generation .. pack('<I6', number)
end

-- What is known of a permit: whether it is void, or closed. One that is open is closed, if it has a number.
local function ledger_close(key, of, number)
  local generation, next, open, first, until_ms, cursor = ledger_head(key)
  if generation ~= of then
    return 'void'
  elseif number == 281474976710655 then
    return nil
  elseif number >= next then
    return 'void'
  end
  local place = number % 448
  local field = string.format('%d', (number - place) / 448)
  local chunk = call('HGET', key, field)
  if not chunk then
    return 'spent'
  end
  local ends, inside = unpack('<I6I2', chunk)
  local at = (place - place % 8) / 8 + 9
  local byte, bit = string.byte(chunk, at), 2 ^ (place % 8)
  if byte % (2 * bit) < bit then
    return 'spent'
  end
  if inside == 1 then
    call('HDEL', key, field)
  else
    local bits = sub(chunk, 9, at - 1) .. string.char(byte - bit) .. sub(chunk, at + 1)
    call('HSET', key, field, pack('<I6I2', ends, inside - 1) .. bits)
  end
  ledger_save(key, generation, next, open - 1, first, until_ms, cursor)
  return nil
end

---- room
-- Before anything is written: whether all subjects have room. What follows the arguments of the request says of every permit what it is
-- for: a byte that is 1 if it has a number, and a byte for every limit that it covers.
for at = 1, #ARGV - ledgers do
  if string.byte(ARGV[ledgers + at]) == 1 and ledger_full(KEYS[#KEYS - #ARGV + ledgers + at]) then
    return 'full'
  end
end

---- grant
for at = 1, #ARGV - ledgers do
  local covers, longest = ARGV[ledgers + at], 0
  for place = 2, #covers do
    longest = math.max(longest, resets[string.byte(covers, place)])
  end
  row = row .. ledger_grant(KEYS[#KEYS - #ARGV + ledgers + at], string.byte(covers) == 1, now + longest, holder)
end

---- undo
-- Nobody has the permits of a request that is taken back.
for at = 1, undoes and #ARGV - ledgers or 0 do
  local from = permits + permit_bytes * (at - 1)
  if from > #kept then
    break
  end
  local generation, number = unpack('<c8I6', kept, from)
  ledger_close(KEYS[#KEYS - #ARGV + ledgers + at], generation, number)
end

---- settle
-- Replaces what a permit recorded for one subject, once.
if until_ms <= now then
  return 'expired'
end
local known = ledger_close(KEYS[1], generation, number)
if known then
  return known
end
local found = false

---- settled
if found then
  return 'settled'
end
-- What is not there any more, though the ledger is, was released, or given back without a permit.
return number == 281474976710655 and 'spent' or 'void'
