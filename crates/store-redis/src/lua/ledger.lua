-- The permits of a subject that are open: a hash with a bit for each.
--
--   h          format 1; generation 8 bytes; next number 6; open permits 4; the first chunk that may be there 6; until when 6;
--              where the search for what is over goes on 6; history of the server 8; first number of the generation 6
--   e          generations that have ended, the first one first, of 20 bytes each: generation 8, first number 6, end 6
--   a number   a chunk of 448 permits: until when 6 bytes, open permits 2, a bit for each that is open 56
--
-- A chunk goes when all of its permits are spent, or when what they stand for has left its windows. Its value has 64 bytes, so
-- that a server keeps a few chunks as a list. The generation is the id of the request that began it, which no other has: once
-- the key is gone, whoever comes first begins another, and no permit from before is known.
--
-- A server that loses its newest writes has issued numbers that its ledger does not have. It has
-- another history since, and then the ledger begins another generation: those numbers are void,
-- and what survived stays open.

---- functions
local function ledger_head(key)
  local head = call('HGET', key, 'h')
  if not head then
    return nil
  end
  if #head == 37 then
    -- Of an earlier build.
    head = head .. string.rep('\0', 14)
  end
  local format, generation, next, open, first, until_ms, cursor, history, from = unpack('<Bc8I6I4I6I6I6c8I6', head)
  if format ~= 1 then
    error(FOREIGN .. key)
  end
  if until_ms <= now then
    call('DEL', key)
    return nil
  end
  return generation, next, open, first, until_ms, cursor, history, from
end

local function ledger_save(key, generation, next, open, first, until_ms, cursor, history, from)
  local head = pack('<Bc8I6I4I6I6I6c8I6', 1, generation, next, open, first, until_ms, cursor, history, from)
  call('HSET', key, 'h', head)
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
  local generation, next, open, first, until_ms, cursor, history, from = ledger_head(key)
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
  ledger_save(key, generation, next, open, first, until_ms, cursor, history, from)
  return open >= 1048576
end

-- Ends a generation. The last 63 are on record.
local function ledger_end(key, generation, from, next)
  local ended = call('HGET', key, 'e') or ''
  if #ended == 1260 then
    ended = sub(ended, 21)
  end
  call('HSET', key, 'e', ended .. pack('<c8I6I6', generation, from, next))
end

-- First number and end of a generation that has ended; nil if it is not on record.
local function ledger_ended(key, of)
  local ended = call('HGET', key, 'e') or ''
  for at = 1, #ended, 20 do
    local generation, from, next = unpack('<c8I6I6', ended, at)
    if generation == of then
      return from, next
    end
  end
  return nil
end

-- Opens a permit; without a number where it stands for places in flight alone. `current` is the
-- history of the server; zeros are an unknown one.
local function ledger_grant(key, numbered, until_ms, id, current)
  local generation, next, open, first, latest, cursor, history, from = ledger_head(key)
  local unknown = string.rep('\0', 8)
  if not generation then
    generation, next, open, first, latest, cursor, history, from = id, 0, 0, 0, 0, 0, current, 0
  elseif history ~= current and current ~= unknown then
    if history ~= unknown then
      ledger_end(key, generation, from, next)
      -- In a chunk of its own, so that no chunk is of two generations.
      next = next + -next % 448
      generation, from = id, next
    end
    history = current
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
  ledger_save(key, generation, next, open, first, latest, cursor, history, from)
  return generation .. pack('<I6', number)
end

-- What is known of a permit: whether it is void, or closed. One that is open is closed, if it has a number.
local function ledger_close(key, of, number)
  local generation, next, open, first, until_ms, cursor, history, from = ledger_head(key)
  if not generation then
    return 'void'
  end
  local lowest, limit = from, next
  if generation ~= of then
    lowest, limit = ledger_ended(key, of)
  end
  if not lowest then
    return 'void'
  elseif number == 281474976710655 then
    return nil
  elseif number < lowest or number >= limit then
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
  ledger_save(key, generation, next, open - 1, first, until_ms, cursor, history, from)
  return nil
end

---- capacity
-- Before anything is written: whether all subjects have room. What follows the arguments of the request says of every permit what it is
-- for: a byte that is 1 if it has a number, and a byte for every limit that it covers.
for at = 1, #ARGV - ledgers do
  if string.byte(ARGV[ledgers + at]) == 1 and ledger_full(KEYS[#KEYS - #ARGV + ledgers + at]) then
    return 'full'
  end
end

---- grant
-- The history of the server's data is its replication id. It changes when a server starts and when
-- a replica becomes a primary: whenever the newest writes may be lost. A node cannot pass it as an
-- argument, because connections outlast a change.
local history = string.rep('\0', 8)
if #ARGV > ledgers then
  local info = redis.pcall('INFO', 'replication')
  local digits = string.rep('%x', 8)
  local id = 'master_replid:(' .. digits .. ')(' .. digits .. ')'
  local high, low = string.match(type(info) == 'string' and info or '', id)
  if high then
    history = pack('<I4I4', tonumber(high, 16), tonumber(low, 16))
  end
end
for at = 1, #ARGV - ledgers do
  local covers, longest = ARGV[ledgers + at], 0
  for place = 2, #covers do
    longest = math.max(longest, resets[string.byte(covers, place)])
  end
  row = row .. ledger_grant(KEYS[#KEYS - #ARGV + ledgers + at], string.byte(covers) == 1, now + longest, holder, history)
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
