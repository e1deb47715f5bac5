-- One aligned window: a count that starts anew at every edge.
--
--   byte  0   format: 1
--         1   last write, 6 bytes
--         7   units of the window of the last write, 7 bytes

---- peek
local value = call('GET', key_)
left_, at_, start_, current_ = quota_, now, now - now % window_, 0
if value then
  local format, last, current = unpack('<BI6I7', value)
  if format ~= 1 then
    error(FOREIGN .. key_)
  end
  if last - now > window_ then
    -- The clock was wrong: what lies ahead is taken to have come now. Written whatever the answer.
    last = now
    save(key_, pack('<BI6I7', 1, last, current), start_ + window_)
  end
  local at = last > now and last or now
  local start = at - at % window_
  if last >= start then
    left_, at_, start_, current_ = current < quota_ and quota_ - current or 0, at, start, current
  else
    -- Same as a new key: the time of the last write has no meaning.
    call('DEL', key_)
  end
end

---- answer
local ends = start_ + window_ - now
reset_, when_ = 0, 0
if current_ > 0 then
  reset_ = ends
end
if cost_ > left_ and cost_ <= quota_ then
  when_ = ends
end

---- record
local value = pack('<BI6I7', 1, at_, current_ + cost_)
if current_ > 0 then
  -- The window of the last write: the key lives for long enough already.
  call('SETRANGE', key_, '0', value)
else
  save(key_, value, start_ + window_)
end
left_, reset_, when_ = left_ - cost_, start_ + window_ - now, at_

---- settle
-- None are left where all were given back, or forgotten.
if current_ > 0 and recorded_at_ - recorded_at_ % window_ == start_ then
  current_ = math.min(math.max(0, current_ - recorded_) + cost_, DEBT)
  found = true
  WRITE
end

---- give back
if current_ > 0 then
  current_ = math.max(0, current_ - cost_)
  WRITE
end

---- write
if current_ == 0 then
  call('DEL', key_)
else
  save(key_, pack('<BI6I7', 1, at_, current_), start_ + window_)
end
