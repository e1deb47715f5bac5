-- Open permits of a subject: a hash with a bit for each.
--
--   h          format 1; generation 8 bytes; next number 6; open permits 4; first chunk that may exist 6; expiry 6;
--              cursor of the search for expired chunks 6; history of the server 8; first number of the generation 6
--   e          generations that have ended, the first one first, of 20 bytes each: generation 8, first number 6, end 6
--   a number   a chunk of 448 permits: expiry 6 bytes, open permits 2, a bit for each open permit 56
--
-- A chunk is deleted when all of its permits are spent, or when their charges have left their windows. Its value has 64 bytes,
-- so that a server stores a few chunks as a list. The generation is the unique id of the request that began it: once the key
-- is gone, the next request begins another, and all permits from before are void.
--
-- A server that loses its newest writes has issued numbers that are not stored. It has another history
-- since, and then another generation begins: those numbers are void, and permits that survived stay open.

---- functions
local function permits_head(key)
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

local function permits_save(key, generation, next, open, first, until_ms, cursor, history, from)
  local head = pack('<Bc8I6I4I6I6I6c8I6', 1, generation, next, open, first, until_ms, cursor, history, from)
  call('HSET', key, 'h', head)
  if EXPIRES then
    call('PEXPIREAT', key, string.format('%d', until_ms))
  end
end

-- Deletes expired chunks, a few at a time: more than one for every new chunk.
local function permits_sweep(key, open, first, last)
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

-- True if the maximum number of permits is open. Then expired chunks behind chunks that last longer are deleted, some at a time.
local function permits_full(key)
  local generation, next, open, first, until_ms, cursor, history, from = permits_head(key)
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
  permits_save(key, generation, next, open, first, until_ms, cursor, history, from)
  return open >= 1048576
end

-- Ends a generation. The last 63 are on record.
local function permits_end(key, generation, from, next)
  local ended = call('HGET', key, 'e') or ''
  if #ended == 1260 then
    ended = sub(ended, 21)
  end
  call('HSET', key, 'e', ended .. pack('<c8I6I6', generation, from, next))
end

-- First number and end of a generation that has ended; nil if it is not on record.
local function permits_ended(key, of)
  local ended = call('HGET', key, 'e') or ''
  for at = 1, #ended, 20 do
    local generation, from, next = unpack('<c8I6I6', ended, at)
    if generation == of then
      return from, next
    end
  end
  return nil
end

-- Opens a permit; without a number if it stands for in-flight slots only. `current` is the
-- history of the server; zeros are an unknown one.
local function permits_grant(key, numbered, until_ms, id, current)
  local generation, next, open, first, latest, cursor, history, from = permits_head(key)
  local unknown = string.rep('\0', 8)
  if not generation then
    generation, next, open, first, latest, cursor, history, from = id, 0, 0, 0, 0, 0, current, 0
  elseif history ~= current and current ~= unknown then
    if history ~= unknown then
      permits_end(key, generation, from, next)
      -- In a chunk of its own, so that no chunk is shared by two generations.
      next = next + -next % 448
      generation, from = id, next
    end
    history = current
  end
  latest = math.max(latest, until_ms)
  local number = 281474976710655
  if numbered then
    local offset = next % 448
    local index = (next - offset) / 448
    local field = string.format('%d', index)
    if offset == 0 then
      open, first = permits_sweep(key, open, first, index)
    end
    local chunk = call('HGET', key, field)
    local ends, inside, bits = until_ms, 0, nil
    if chunk then
      ends, inside = unpack('<I6I2', chunk)
      ends, bits = math.max(ends, until_ms), sub(chunk, 9)
    else
      bits = string.rep('\0', 56)
    end
    local at = (offset - offset % 8) / 8 + 1
    local byte = string.char(string.byte(bits, at) + 2 ^ (offset % 8))
    bits = sub(bits, 1, at - 1) .. byte .. sub(bits, at + 1)
    call('HSET', key, field, pack('<I6I2', ends, inside + 1) .. bits)
    number, next, open = next, next + 1, open + 1
  end
  permits_save(key, generation, next, open, first, latest, cursor, history, from)
  return generation .. pack('<I6', number)
end

-- State of a permit that is void or spent; nil if it is open. Closes an open one that has a number.
local function permits_close(key, of, number)
  local generation, next, open, first, until_ms, cursor, history, from = permits_head(key)
  if not generation then
    return 'void'
  end
  local lowest, limit = from, next
  if generation ~= of then
    lowest, limit = permits_ended(key, of)
  end
  if not lowest then
    return 'void'
  elseif number == 281474976710655 then
    return nil
  elseif number < lowest or number >= limit then
    return 'void'
  end
  local offset = number % 448
  local field = string.format('%d', (number - offset) / 448)
  local chunk = call('HGET', key, field)
  if not chunk then
    return 'spent'
  end
  local ends, inside = unpack('<I6I2', chunk)
  local at = (offset - offset % 8) / 8 + 9
  local byte, bit = string.byte(chunk, at), 2 ^ (offset % 8)
  if byte % (2 * bit) < bit then
    return 'spent'
  end
  if inside == 1 then
    call('HDEL', key, field)
  else
    local bits = sub(chunk, 9, at - 1) .. string.char(byte - bit) .. sub(chunk, at + 1)
    call('HSET', key, field, pack('<I6I2', ends, inside - 1) .. bits)
  end
  permits_save(key, generation, next, open - 1, first, until_ms, cursor, history, from)
  return nil
end

---- capacity
-- Before anything is written: refuses if a subject has the maximum number of open permits. Behind the arguments of the request is
-- one for every permit: a byte that is 1 if it has a number, and a byte for every limit that it covers.
for at = 1, #ARGV - permit_base do
  if string.byte(ARGV[permit_base + at]) == 1 and permits_full(KEYS[#KEYS - #ARGV + permit_base + at]) then
    return 'full'
  end
end

---- grant
-- The history of the server's data is its replication id. It changes when a server starts and when
-- a replica becomes a primary: whenever the newest writes may be lost. A node cannot pass it as an
-- argument, because connections outlast a change.
local history = string.rep('\0', 8)
if #ARGV > permit_base then
  local info = redis.pcall('INFO', 'replication')
  local digits = string.rep('%x', 8)
  local id = 'master_replid:(' .. digits .. ')(' .. digits .. ')'
  local high, low = string.match(type(info) == 'string' and info or '', id)
  if high then
    history = pack('<I4I4', tonumber(high, 16), tonumber(low, 16))
  end
end
for at = 1, #ARGV - permit_base do
  local covers, longest = ARGV[permit_base + at], 0
  for offset = 2, #covers do
    longest = math.max(longest, resets[string.byte(covers, offset)])
  end
  row = row .. permits_grant(KEYS[#KEYS - #ARGV + permit_base + at], string.byte(covers) == 1, now + longest, holder, history)
end

---- undo
-- Closes the permits of a request that is undone, which nobody has.
for at = 1, undoes and #ARGV - permit_base or 0 do
  local from = permits + permit_bytes * (at - 1)
  if from > #stored then
    break
  end
  local generation, number = unpack('<c8I6', stored, from)
  permits_close(KEYS[#KEYS - #ARGV + permit_base + at], generation, number)
end

---- settle
-- Replaces the recorded charge of a permit for one subject, once.
if until_ms <= now then
  return 'expired'
end
local state = permits_close(KEYS[1], generation, number)
if state then
  return state
end
local found = false

---- settled
if found then
  return 'settled'
end
-- An open permit without its charge: the units were released, or given back without a permit.
return number == 281474976710655 and 'spent' or 'void'
