-- Sliding window log: entries of a stamp and its units, in order, no two with one stamp. Extra: the resolution.
--
-- Lua pays for every byte of a string that it is given, and for every number that it takes out of one. So the common case reads the
-- head alone, which has the entries at both ends, and writes its newest part; the entries in between lie in a ring of blocks
-- behind it, and one block moves for every few entries.
--
--   byte  0   the shape, 5 bytes: 8 * format + how many newest entries there are, less one (8 bits); how many oldest entries (4 bits);
--             the first block of the ring in use, and how many are in use (14 bits each).
--             Format 1: entries of 8 bytes (stamp 6, units 2), format 2: of 16 (stamp 6, units 10)
--         5   last write, 6 bytes
--        11   units of all entries, 7 bytes
--        18   the newest entries, 64 bytes at most, newest first
--        82   the oldest entries, 64 bytes at most, newest first; none in a value that ends before
--       146   how many blocks the ring has, 2 bytes
--       148   the ring: blocks of 64 bytes, newest entry first
--
-- What lies behind the last entry of a part means nothing.
--
-- A log of which parts are on lease is rare, and has another value, which is read and written as a whole:
--
--   byte  0   format 24
--         1   last write, 6 bytes
--         7   the epoch, 7 bytes
--        14   how many rows
--        15   the rows, 48 bytes each: node 8, sequence number 7, units 7, want 7, demand 7, end 6, length 6
--             the entries, 13 bytes each, oldest first: stamp 6, units 7

---- functions
-- What is rare, and so may be slow. These are functions in a function because making one takes time, at every call.
local function rare_log(save)
  -- All entries that have not left the window, oldest first, as { stamp, units, stamp, units, … }; and the blocks of the ring.
  local function entries_of(key, at, window)
    local value = redis.call('GET', key)
    if not value then
      return {}, 0
    end
    local shape, capacity = struct.unpack('<I5', value), 0
    local size, new = 8, shape % 256 - 7
    if new > 8 then
      size, new = 16, new - 8
    end
    local old, ring = math.floor(shape / 256) % 16, math.floor(shape / 4096)
    local first, blocks = ring % 16384, math.floor(ring / 16384)
    local parts = { string.sub(value, 19, 18 + new * size) }
    if #value > 146 then
      capacity = struct.unpack('<I2', value, 147)
      for block = first + blocks - 1, first, -1 do
        local from = 148 + 64 * (block % capacity)
        parts[#parts + 1] = string.sub(value, from + 1, from + 64)
      end
    end
    parts[#parts + 1] = string.sub(value, 83, 82 + old * size)
    local bytes, entries = table.concat(parts), {}
    for from = #bytes - size + 1, 1, -size do
      local stamp, units = struct.unpack(size == 8 and '<I6I2' or '<I6I10', bytes, from)
      if stamp + window > at then
        entries[#entries + 1] = stamp
        entries[#entries + 1] = units
      end
    end
    return entries, capacity
  end

  -- Rewrites a log with this many blocks, or more if needed.
  local function rewrite(key, last, entries, capacity, window)
    local count, total, size, format = #entries / 2, 0, 8, 1
    if count == 0 then
      redis.call('DEL', key)
      return
    end
    for index = 2, #entries, 2 do
      total = total + entries[index]
      if entries[index] > 65535 then
        size, format = 16, 2
      end
    end
    local packed = {}
    for index = #entries - 1, 1, -2 do
      packed[#packed + 1] = struct.pack(size == 8 and '<I6I2' or '<I6I10', entries[index], entries[index + 1])
    end
    local per = 64 / size
    local old = count > per and per or 0
    local new = (count - old - 1) % per + 1
    local blocks = (count - old - new) / per
    capacity = math.max(capacity, blocks)
    local shape = 8 * format + new - 1 + 256 * old + 4096 * 16384 * blocks
    local parts = { struct.pack('<I5I6I7', shape, last, total), table.concat(packed, '', 1, new) }
    if old > 0 or capacity > 0 then
      parts[3] = string.rep('\0', 64 - new * size)
      parts[4] = table.concat(packed, '', count - old + 1, count)
    end
    if capacity > 0 then
      parts[5] = string.rep('\0', 64 - old * size)
      parts[6] = struct.pack('<I2', capacity)
      for block = 1, blocks do
        local from = count - old - block * per
        parts[#parts + 1] = table.concat(packed, '', from + 1, from + per)
      end
      parts[#parts + 1] = string.rep('\0', 64 * (capacity - blocks))
    end
    local step = math.max(1, math.floor(window / 8))
    save(key, table.concat(parts), math.ceil((entries[#entries - 1] + window) / step) * step)
  end

  -- Every stamp ahead of now becomes now: the clock was wrong by more than a window when they were written.
  local function repair(key, now, window)
    local entries, ahead = entries_of(key, now, window), 0
    while #entries > 0 and entries[#entries - 1] >= now do
      ahead = ahead + table.remove(entries)
      table.remove(entries)
    end
    if ahead > 0 then
      entries[#entries + 1] = now
      entries[#entries + 1] = ahead
    end
    rewrite(key, now, entries, 0, window)
    return redis.call('GETRANGE', key, '0', '147')
  end

  -- Adds units to a list of entries that has at most so many; gives the stamp of their entry.
  local function insert(entries, stamp, units, most)
    local place = #entries + 1
    while place > 1 and entries[place - 2] > stamp do
      place = place - 2
    end
    if place > 1 and entries[place - 2] == stamp then
      entries[place - 1] = entries[place - 1] + units
    elseif place <= #entries and (#entries >= 131072 or #entries == 2 * most) then
      -- As many as there may be, or just as many as the limit can need: with the next.
      stamp, entries[place + 1] = entries[place], entries[place + 1] + units
    else
      table.insert(entries, place, units)
      table.insert(entries, place, stamp)
    end
    return stamp
  end

  -- Writes a log with leases; without rows it is a plain one.
  local function write_leases(key, leases, last, window)
    local rows, entries = leases.rows, leases.entries
    if #rows == 0 then
      rewrite(key, last, entries, 0, window)
      return
    end
    local newest = entries[#entries - 1] or 0
    local parts = { struct.pack('<BI6I7B', 24, last, leases.epoch, #rows) }
    for index = 1, #rows do
      local row = rows[index]
      newest = math.max(newest, row[6])
      parts[#parts + 1] = struct.pack('<c8I7I7I7I7I6I6', row[1], row[2], row[3], row[4], row[5], row[6], row[7])
    end
    for index = 1, #entries, 2 do
      parts[#parts + 1] = struct.pack('<I6I7', entries[index], entries[index + 1])
    end
    local step = math.max(1, math.floor(window / 8))
    save(key, table.concat(parts), math.ceil((newest + window) / step) * step)
  end

  -- A log with leases: its rows as lists, its entries, the units of both, and the time at which to decide; nil without any.
  local function read_leases(key, now, window)
    local value = redis.call('GET', key)
    local _, last, epoch, count = struct.unpack('<BI6I7B', value)
    local repairs = last > now + window
    local at, changes = repairs and now or math.max(now, last), repairs
    local leases = { at = at, epoch = epoch, rows = {}, entries = {}, total = 0, leased = 0 }
    for from = 16, 15 + 48 * count, 48 do
      local row = { struct.unpack('<c8I7I7I7I7I6I6', value, from) }
      if repairs then
        row[6] = math.min(row[6], now + row[7])
      end
      if row[6] + window > at then
        leases.rows[#leases.rows + 1] = row
        leases.leased = leases.leased + row[3]
      else
        changes = true
      end
    end
    for from = 16 + 48 * count, #value, 13 do
      local stamp, units = struct.unpack('<I6I7', value, from)
      if repairs and stamp > now then
        stamp = now
      end
      if stamp + window > at then
        insert(leases.entries, stamp, units, 65536)
        leases.total = leases.total + units
      else
        changes = true
      end
    end
    if #leases.rows == 0 then
      -- The same as a log without leases.
      leases.epoch = 0
      if #leases.entries == 0 then
        redis.call('DEL', key)
        return nil
      end
    end
    if changes then
      write_leases(key, leases, repairs and now or last, window)
    end
    return leases
  end

  -- Stamps of entries and ends of leases with their units, in order, as entries.
  local function releases_of(leases)
    local releases = {}
    for index = 1, #leases.entries, 2 do
      releases[#releases + 1] = { leases.entries[index], leases.entries[index + 1] }
    end
    for index = 1, #leases.rows do
      releases[#releases + 1] = { leases.rows[index][6], leases.rows[index][3] }
    end
    table.sort(releases, function(one, other)
      return one[1] < other[1]
    end)
    return releases
  end

  return entries_of, rewrite, repair, insert, read_leases, write_leases, releases_of
end

---- peek
left_, at_, total_, new_, old_, size_, gone_, fetched_, leases_ = quota_, now, 0, 0, 0, 8, 0, false, nil
head_ = call('GETRANGE', key_, '0', '147')
if head_ ~= '' then
  local shape, last, total, newest, units = unpack('<I5I6I7I6I2', head_)
  local format = shape % 256
  if format < 8 or format > 24 then
    error(FOREIGN .. key_)
  end
  local at, new, size, pattern = now, format - 7, 8, '<I6I2'
  if format == 24 then
    local _, _, _, _, read_leases = rare_log(save)
    leases_ = read_leases(key_, now, window_)
    if leases_ then
      at_, total_ = leases_.at, leases_.total
      left_ = math.max(0, quota_ - total_ - leases_.leased)
    end
  else
    if last > now then
      at = last
      if last - now > window_ then
        local _, _, repair = rare_log(save)
        head_ = repair(key_, now, window_)
        shape, last, total, newest, units = unpack('<I5I6I7I6I2', head_)
        format, at = shape % 256, now
        new = format - 7
      end
    end
    if format > 15 then
      new, size, pattern = format - 15, 16, '<I6I10'
      newest, units = unpack(pattern, head_, 19)
    end
    if newest + window_ <= at then
      -- Same as a new key: the time of the last write has no meaning.
      call('DEL', key_)
    else
      local old = (shape - format) / 256 % 16
      local place = old > 0 and 83 + (old - 1) * size or 19 + (new - 1) * size
      local oldest, leaving, second, second_leaving
      if old > 1 then
        -- In a log that is in steady use the oldest leaves and the second does not: both at once take less time.
        second, second_leaving, oldest, leaving = unpack(size == 8 and '<I6I2I6I2' or '<I6I10I6I10', head_, place - size)
      else
        oldest, leaving = unpack(pattern, head_, place)
      end
      while oldest + window_ <= at do
        total, gone_, place = total - leaving, gone_ + 1, place - size
        if old == 0 then
          new, shape = new - 1, shape - 1
        else
          old, shape = old - 1, shape - 256
          if old == 0 then
            place = 19 + (new - 1) * size
            if shape >= 67108864 then
              local first, capacity = (shape - shape % 4096) / 4096 % 16384, unpack('<I2', head_, 147)
              local from = 148 + 64 * first
              local block = call('GETRANGE', key_, string.format('%d', from), string.format('%d', from + 63))
              head_ = sub(head_, 1, 82) .. block .. sub(head_, 147, 148)
              old, fetched_, place = 64 / size, true, 147 - size
              shape = shape + 256 * old - 67108864 + 4096 * ((first + 1) % capacity - first)
            end
          end
        end
        if second then
          oldest, leaving, second = second, second_leaving, nil
        else
          oldest, leaving = unpack(pattern, head_, place)
        end
      end
      left_ = total < quota_ and quota_ - total or 0
      at_, total_, new_, old_, size_, shape_ = at, total, new, old, size, shape
      newest_, units_, oldest_, last_ = newest, units, oldest, last
    end
  end
end

---- answer
reset_, when_ = 0, 0
if leases_ then
  local _, _, _, _, _, _, releases_of = rare_log(save)
  local releases = releases_of(leases_)
  reset_ = releases[#releases][1] + window_ - now
  if cost_ > left_ and cost_ <= quota_ then
    local index, excess = 1, total_ + leases_.leased + cost_ - quota_
    while releases[index][2] < excess do
      excess, index = excess - releases[index][2], index + 1
    end
    when_ = releases[index][1] + window_ - now
  end
elseif new_ > 0 then
  reset_ = newest_ + window_ - now
  if cost_ > left_ and cost_ <= quota_ then
    local stamp, excess = oldest_, total_ + cost_ - quota_
    if excess > 1 then
      -- The entry with which enough has left: not simply the oldest.
      local entries, index = rare_log(save)(key_, at_, window_), 2
      while entries[index] < excess do
        excess, index = excess - entries[index], index + 2
      end
      stamp = entries[index - 1]
    end
    when_ = stamp + window_ - now
  end
  if gone_ > 0 then
    -- Drops the entries that have left the window.
    call('SETRANGE', key_, '0', pack('<I5I6I7', shape_, last_, total_))
    if fetched_ then
      call('SETRANGE', key_, '82', sub(head_, 83, 146))
    end
  end
end

---- record
if leases_ then
  local _, _, _, insert, _, write_leases, releases_of = rare_log(save)
  local most = math.min(quota_, math.ceil(window_ / extra_) + 2)
  when_ = insert(leases_.entries, at_ - at_ % extra_ + extra_ - 1, cost_, most)
  write_leases(key_, leases_, at_, window_)
  local releases = releases_of(leases_)
  left_, reset_ = left_ - cost_, releases[#releases][1] + window_ - now
else
  -- The entries behind the newest one: from where in the head, and how many.
  local stamp, units, from, behind = at_ - at_ % extra_ + extra_ - 1, cost_, 19, new_
  local full, capacity, ahead = false, 0, new_ > 0 and newest_ > stamp
  if new_ > 0 and newest_ == stamp then
    units, from, behind = units_ + cost_, 19 + size_, new_ - 1
  elseif not ahead and new_ * size_ == 64 then
    full, behind = true, 0
    if #head_ == 148 then
      capacity = unpack('<I2', head_, 147)
    end
  end
  local blocks = full and (shape_ - shape_ % 67108864) / 67108864
  if ahead then
    -- A slot was longer before, and reaches further: the entry goes before those that end later. Mostly that is the newest alone, and the
    -- head has what comes before it.
    local second, second_units = 0, 0
    if new_ > 1 then
      second, second_units = unpack(size_ == 8 and '<I6I2' or '<I6I10', head_, 19 + size_)
    end
    local shape, rest = shape_, 19 + 2 * size_
    local count = new_ + old_ + (shape_ - shape_ % 67108864) / 67108864 * (64 / size_)
    local brim = count >= 65536 or count == math.min(quota_, math.ceil(window_ / extra_) + 2)
    if second == stamp then
      units = cost_ + second_units
    elseif second < stamp and (new_ > 1 or old_ == 0) and new_ * size_ < 64 and not brim then
      shape, rest = shape_ + 1, 19 + size_
    else
      shape = nil
    end
    if shape and not fetched_ and (units <= 65535 or size_ == 16) then
      local pattern = size_ == 8 and '<I5I6I7I6I2I6I2c0' or '<I5I6I7I6I10I6I10c0'
      local tail = sub(head_, rest, 18 + new_ * size_)
      call('SETRANGE', key_, '0', pack(pattern, shape, at_, total_ + cost_, newest_, units_, stamp, units, tail))
    else
      local entries_of, rewrite, _, insert = rare_log(save)
      local entries, room = entries_of(key_, at_, window_)
      stamp = insert(entries, stamp, cost_, math.min(quota_, math.ceil(window_ / extra_) + 2))
      rewrite(key_, at_, entries, room, window_)
    end
  elseif units > 65535 and size_ == 8 or full and old_ > 0 and blocks == capacity then
    local entries_of, rewrite = rare_log(save)
    local entries, room = entries_of(key_, at_, window_)
    local place = from == 19 and #entries + 1 or #entries - 1
    entries[place], entries[place + 1] = stamp, units
    local most = math.floor(math.min(quota_, math.ceil(window_ / extra_) + 2) / 8)
    rewrite(key_, at_, entries, full and math.min(2 * room + 1, most) or room, window_)
  elseif new_ == 0 then
    local format = size_ == 8 and 8 or 16
    local value = pack(size_ == 8 and '<I5I6I7I6I2' or '<I5I6I7I6I10', format, at_, cost_, stamp, units)
    save(key_, value, stamp + window_ + margin_ - 1 - (stamp + window_ - 1) % margin_)
  else
    local shape, tail = shape_ + behind + 1 - new_, nil
    if full and old_ == 0 then
      -- What was new becomes old.
      shape, tail = shape + 256 * (64 / size_), sub(head_, 19, 82 - size_) .. sub(head_, 19, 82)
    else
      if full then
        local block = ((shape_ - shape_ % 4096) / 4096 % 16384 + blocks) % capacity
        call('SETRANGE', key_, string.format('%d', 148 + 64 * block), sub(head_, 19, 82))
        shape = shape + 67108864
      end
      if fetched_ then
        tail = sub(head_, from, from + 63 - size_) .. sub(head_, 83, 146)
      else
        tail = sub(head_, from, from + behind * size_ - 1)
      end
    end
    local pattern = size_ == 8 and '<I5I6I7I6I2c0' or '<I5I6I7I6I10c0'
    local value = pack(pattern, shape, at_, total_ + cost_, stamp, units, tail)
    call('SETRANGE', key_, '0', value)
    if ALONE and at_ == now then
      -- The head says all there is to say, and is quicker taken than packed.
      row = sub(value, 1, 26)
    end
    if EXPIRES then
      -- The key outlives its newest entry by a part of a window, so that most writes need not have it live longer.
      local until_ms = stamp + window_ - 1
      until_ms = until_ms - until_ms % margin_
      if until_ms > newest_ + window_ - 1 then
        call('PEXPIREAT', key_, string.format('%d', until_ms + margin_))
      end
    end
  end
  left_, reset_, when_ = left_ - cost_, (ahead and newest_ or stamp) + window_ - now, stamp
end

---- settle
if new_ > 0 or leases_ then
  local entries_of, rewrite, _, _, _, write_leases = rare_log(save)
  local entries, capacity
  if leases_ then
    entries = leases_.entries
  else
    entries, capacity = entries_of(key_, at_, window_)
  end
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
      if leases_ then
        write_leases(key_, leases_, at_, window_)
      else
        rewrite(key_, at_, entries, capacity, window_)
      end
      found = true
      break
    end
  end
end

---- give back
if new_ > 0 or leases_ and #leases_.entries > 0 then
  local entries_of, rewrite, _, _, _, write_leases = rare_log(save)
  local entries, capacity
  if leases_ then
    entries = leases_.entries
  else
    entries, capacity = entries_of(key_, at_, window_)
  end
  local units, left = cost_, {}
  for index = 1, #entries, 2 do
    local part = math.min(units, entries[index + 1])
    units = units - part
    if entries[index + 1] > part then
      left[#left + 1] = entries[index]
      left[#left + 1] = entries[index + 1] - part
    end
  end
  if leases_ then
    leases_.entries = left
    write_leases(key_, leases_, at_, window_)
  else
    rewrite(key_, at_, left, capacity, window_)
  end
end
