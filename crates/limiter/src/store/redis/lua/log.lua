-- Sliding window log: entries of a stamp and its units, in order, no two with one stamp. Extra: the resolution.
--
-- Lua pays for every byte of a string that it is given. So the common case reads and writes the head alone, which has the totals
-- and the entries at both ends; those in between lie in a ring of blocks behind it, and one block moves for every few entries.
--
--   byte  0   32 times the format, plus how many entries the head has. Format 1: entries of 8 bytes (stamp 6, units 2), format 2: of
--             16 (stamp 6, units 10)
--         1   last write, 6 bytes
--         7   units of all entries, 7 bytes
--        14   how many entries of the head come before those in the ring; the others come after
--        15   the ring: blocks, first block in use, blocks in use: 2 bytes each, read as one number that few decisions look into
--        21   entries of the head, 128 bytes at most, the newest first
--       149   blocks of 64 bytes, each with its newest entry first
--
-- A value without a ring may end before byte 149. What lies behind the last entry of the head means nothing.

---- functions
-- What is rare, and so may be slow. These are functions in a function because making one takes time, at every call.
local function rare_log(save)
  -- All entries, oldest first, as { stamp, units, stamp, units, … }.
  local function entries_of(key, head, size, count, old, ring)
    local capacity, first, blocks = ring % 65536, math.floor(ring / 65536) % 65536, math.floor(ring / 4294967296)
    local parts = { string.sub(head, 22, 21 + (count - old) * size) }
    if blocks > 0 then
      local bytes = redis.call('GETRANGE', key, 149, 148 + 64 * capacity)
      for block = first + blocks - 1, first, -1 do
        local from = 64 * (block % capacity)
        parts[#parts + 1] = string.sub(bytes, from + 1, from + 64)
      end
    end
    parts[#parts + 1] = string.sub(head, 22 + (count - old) * size, 21 + count * size)
    local bytes, entries = table.concat(parts), {}
    for from = #bytes - size + 1, 1, -size do
      local stamp, units = struct.unpack(size == 8 and '<I6I2' or '<I6I10', bytes, from)
      entries[#entries + 1] = stamp
      entries[#entries + 1] = units
    end
    return entries
  end

  -- Writes a log anew, with room for so many blocks, or more if it takes more.
  local function rewrite(key, last, entries, capacity, window)
    local count, total, size = #entries / 2, 0, 8
    if count == 0 then
      redis.call('DEL', key)
      return
    end
    for index = 2, #entries, 2 do
      total = total + entries[index]
      if entries[index] > 65535 then
        size = 16
      end
    end
    local packed = {}
    for index = #entries - 1, 1, -2 do
      packed[#packed + 1] = struct.pack(size == 8 and '<I6I2' or '<I6I10', entries[index], entries[index + 1])
    end
    local per = 64 / size
    local old, blocks = math.min(count, per), math.max(0, math.ceil((count - 2 * per) / per))
    local new = count - old - blocks * per
    capacity = math.max(capacity, blocks)
    local parts = {
      struct.pack('<BI6I7BI2I2I2', 4 * size + new + old, last, total, old, capacity, 0, blocks),
      table.concat(packed, '', 1, new),
      table.concat(packed, '', count - old + 1, count),
    }
    if capacity > 0 then
      parts[4] = string.rep('\0', 128 - (new + old) * size)
      for block = 0, blocks - 1 do
        local from = count - old - (block + 1) * per
        parts[#parts + 1] = table.concat(packed, '', from + 1, from + per)
      end
      parts[#parts + 1] = string.rep('\0', 64 * (capacity - blocks))
    end
    local value = table.concat(parts)
    local step = math.max(1, math.floor(window / 8))
    save(key, value, math.ceil((entries[#entries - 1] + window) / step) * step)
  end

  -- Every stamp ahead of now becomes now: the clock was wrong by more than a window when they were written.
  local function repair(key, now, window, ...)
    local entries, ahead = entries_of(key, ...), 0
    while #entries > 0 and entries[#entries - 1] >= now do
      ahead = ahead + table.remove(entries)
      table.remove(entries)
    end
    if ahead > 0 then
      entries[#entries + 1] = now
      entries[#entries + 1] = ahead
    end
    rewrite(key, now, entries, 0, window)
    return redis.call('GETRANGE', key, '0', '148')
  end

  return entries_of, rewrite, repair
end

---- look
left_, at_, total_, count_, old_, ring_, size_, gone_ = quota_, now, 0, 0, 0, 0, 8, 0
head_ = call('GETRANGE', key_, '0', '148')
if head_ ~= '' then
  local count, last, total, old, ring, newest, units = unpack('<BI6I7BI6I6I2', head_)
  local at, size, pattern = now, 8, '<I6I2'
  if count < 32 or count > 95 then
    error(FOREIGN .. key_)
  end
  if last > now then
    at = last
    if last - now > window_ then
      local _, _, repair = rare_log(save)
      head_ = repair(key_, now, window_, head_, count < 64 and 8 or 16, count % 32, old, ring)
      count, last, total, old, ring, newest, units = unpack('<BI6I7BI6I6I2', head_)
      at = last
    end
  end
  if count < 64 then
    count = count - 32
  else
    count, size, pattern = count - 64, 16, '<I6I10'
    newest, units = unpack(pattern, head_, 22)
  end
  if newest + window_ <= at then
    -- As if never seen: then the time of the last write means nothing either.
    call('DEL', key_)
    head_ = ''
  else
    local oldest, units_gone = unpack(pattern, head_, 22 + (count - 1) * size)
    while oldest + window_ <= at do
      total, count, old, gone_ = total - units_gone, count - 1, old - 1, gone_ + 1
      if ring < 4294967296 then
        old = math.min(count, 64 / size)
      elseif old == 0 then
        -- Numbers that go to redis.call take long to write out; small ones are exact as text too.
        local capacity, first = ring % 65536, math.floor(ring / 65536) % 65536
        local from = 149 + 64 * first
        head_ = sub(head_, 1, 21 + count * size) .. call('GETRANGE', key_, from .. '', from + 63 .. '')
        count, old = count + 64 / size, 64 / size
        ring = ring - 4294967296 + ((first + 1) % capacity - first) * 65536
      end
      oldest, units_gone = unpack(pattern, head_, 22 + (count - 1) * size)
    end
    left_ = total < quota_ and quota_ - total or 0
    at_, total_, count_, old_, ring_, size_ = at, total, count, old, ring, size
    newest_, units_, oldest_, last_ = newest, units, oldest, last
  end
end

---- answer
reset_, when_ = 0, 0
if count_ > 0 then
  reset_ = newest_ + window_ - now
  if cost_ > left_ and cost_ <= quota_ then
    local stamp, excess = oldest_, total_ + cost_ - quota_
    if excess > 1 then
      -- The entry with which enough has left: not simply the oldest.
      local entries = rare_log(save)(key_, head_, size_, count_, old_, ring_)
      local index = 2
      while entries[index] < excess do
        excess, index = excess - entries[index], index + 2
      end
      stamp = entries[index - 1]
    end
    when_ = stamp + window_ - now
  end
  if gone_ > 0 then
    -- What has left the window is not looked at again.
    local head = pack('<BI6I7BI6', 4 * size_ + count_, last_, total_, old_, ring_)
    call('SETRANGE', key_, '0', head .. sub(head_, 22, 21 + count_ * size_))
  end
end

---- record
local stamp, units, from, full, blocks, capacity = at_ - at_ % extra_ + extra_ - 1, cost_, 22, false
if count_ > 0 and newest_ >= stamp then
  -- The same slot; or a slot was longer before, and reaches further.
  stamp, units, from = newest_, units_ + cost_, 22 + size_
elseif (count_ - old_) * size_ == 64 then
  full, blocks, capacity = true, math.floor(ring_ / 4294967296), ring_ % 65536
end
if units > 65535 and size_ == 8 or full and blocks == capacity then
  local entries_of, rewrite = rare_log(save)
  local entries = count_ == 0 and {} or entries_of(key_, head_, size_, count_, old_, ring_)
  local place = from == 22 and #entries + 1 or #entries - 1
  entries[place], entries[place + 1] = stamp, units
  local most = math.floor(math.min(quota_, math.ceil(window_ / extra_) + 2) / 8)
  rewrite(key_, at_, entries, full and math.min(2 * capacity + 1, most) or ring_ % 65536, window_)
else
  if full then
    local block = (math.floor(ring_ / 65536) % 65536 + blocks) % capacity
    call('SETRANGE', key_, 149 + 64 * block .. '', sub(head_, 22, 85))
    from, ring_ = 86, ring_ + 4294967296
  end
  local kept = (22 + count_ * size_ - from) / size_ + 1
  if ring_ < 4294967296 then
    old_ = math.min(kept, 64 / size_)
  end
  local value = pack(
    size_ == 8 and '<BI6I7BI6I6I2c0' or '<BI6I7BI6I6I10c0',
    4 * size_ + kept, at_, total_ + cost_, old_, ring_, stamp, units, sub(head_, from, 21 + count_ * size_)
  )
  if count_ == 0 then
    save(key_, value, stamp + window_ + lease_ - 1 - (stamp + window_ - 1) % lease_)
  else
    call('SETRANGE', key_, '0', value)
    if EXPIRES then
      -- The key outlives its newest entry by a part of a window, so that most writes need not have it live longer.
      local until_ms, before_ms = stamp + window_ - 1, newest_ + window_ - 1
      until_ms = until_ms - until_ms % lease_
      if until_ms > before_ms then
        call('PEXPIREAT', key_, until_ms + lease_)
      end
    end
  end
end
left_, reset_, when_ = left_ - cost_, stamp + window_ - now, stamp

---- settle
if count_ > 0 then
  local entries_of, rewrite = rare_log(save)
  local entries = entries_of(key_, head_, size_, count_, old_, ring_)
  for index = 1, #entries, 2 do
    if entries[index] == recorded_at_ then
      local units = math.max(0, entries[index + 1] - recorded_)
      -- All debts of a key together stay a number that is exact.
      units = math.min(units + math.min(cost_, recorded_ + math.max(0, DEBT - total_)), DEBT)
      entries[index + 1] = units
      if units == 0 then
        table.remove(entries, index)
        table.remove(entries, index)
      end
      rewrite(key_, at_, entries, ring_ % 65536, window_)
      break
    end
  end
end
