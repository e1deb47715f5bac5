-- In-flight limit: a bounded number of slots, each released when its hold ends at the latest. The window is the longest hold.
--
--   byte  0   format: 1
--         1   last write, 6 bytes
--         7   slots in use, 6 bytes
--        13   holders, the first to end first, of 20 bytes each: end 6, slots 6, id 8

---- peek
left_, at_, in_use_, holders_, gone_ = quota_, now, 0, '', 0
local value = call('GET', key_)
if value then
  local format, last, in_use = unpack('<BI6I6', value)
  if format ~= 1 then
    error(FOREIGN .. key_)
  end
  if last - now > window_ then
    -- The clock was wrong: no hold ends later than a window from now. Written whatever the answer.
    local holders = {}
    for from = 14, #value, 20 do
      local ends = unpack('<I6', value, from)
      holders[#holders + 1] = pack('<I6', math.min(ends, now + window_)) .. sub(value, from + 6, from + 19)
    end
    last, value = now, pack('<BI6I6', 1, now, in_use) .. table.concat(holders)
    save(key_, value, now + window_)
  end
  local at, from = last > now and last or now, 14
  while from < #value do
    local ends, slots = unpack('<I6I6', value, from)
    if ends > at then
      break
    end
    in_use, from = in_use - slots, from + 20
  end
  if from < #value then
    left_, at_, in_use_, holders_ = in_use < quota_ and quota_ - in_use or 0, at, in_use, sub(value, from)
    last_, gone_ = last, from - 14
  else
    -- Same as a new key: the time of the last write has no meaning.
    call('DEL', key_)
  end
end

---- answer
reset_, when_ = 0, 0
if in_use_ > 0 then
  local last = unpack('<I6', holders_, #holders_ - 19)
  reset_ = last - now
  if cost_ > left_ and cost_ <= quota_ then
    local from, excess = 1, in_use_ + cost_ - quota_
    repeat
      local ends, slots = unpack('<I6I6', holders_, from)
      when_, excess, from = ends - now, excess - slots, from + 20
    until excess <= 0
  end
  if gone_ > 0 then
    -- Drops the holders that have ended.
    save(key_, pack('<BI6I6', 1, last_, in_use_) .. holders_, last)
  end
end

---- record
local ends = at_ + window_
local value = pack('<BI6I6', 1, at_, in_use_ + cost_) .. holders_ .. pack('<I6I6', ends, cost_) .. holder
save(key_, value, ends)
left_, reset_, when_ = left_ - cost_, ends - now, at_

---- settle
local from = 1
while from < #holders_ and sub(holders_, from + 12, from + 19) ~= holder do
  from = from + 20
end
if from < #holders_ then
  found = true
  local ends, slots = unpack('<I6I6', holders_, from)
  -- At most all slots there can be.
  local wanted = math.min(cost_, 65536)
  local changed = wanted > 0 and pack('<I6I6', ends, wanted) .. holder or ''
  local holders = sub(holders_, 1, from - 1) .. changed .. sub(holders_, from + 20)
  if holders == '' then
    call('DEL', key_)
  else
    local value, last = pack('<BI6I6', 1, at_, in_use_ - slots + wanted) .. holders, unpack('<I6', holders, #holders - 19)
    save(key_, value, last)
  end
end
