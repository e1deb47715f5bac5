-- Two aligned windows: the units of the window of the last write, and of the one before, which counts by how much of it is in view.
--
--   byte  0   format: 1, with counts of 2 bytes, or 2, with counts of 7
--         1   last write, 6 bytes
--         7   units of the window before, and of the window of the last write
--
-- Eleven bytes is what a value may have without taking another 16 bytes of memory.

---- functions
-- How long before the end of a window a count from the one before it has shrunk to left, which is less: left * window / count, rounded
-- down, where the product may not fit a double. Windows above a day count in seconds.
local function shrunk_counter(window, count, left)
  local tick = window > 86400000 and 1000 or 1
  local span = window / tick
  local product = left * span
  if product < 9007199254740992 then
    return (product - product % count) / count * tick
  end
  -- A guess that is at most one off, and what it leaves: worked out in halves of 26 bits, each of which is exact.
  local guess = math.floor(product / count)
  local left_low, count_low = left % 67108864, count % 67108864
  local high = (left - left_low) / 67108864 * span - (count - count_low) / 67108864 * guess
  local rest = high * 67108864 + (left_low * span - count_low * guess)
  if rest < 0 then
    guess = guess - 1
  elseif rest >= count then
    guess = guess + 1
  end
  return guess * tick
end

---- peek
local value, weighted = call('GET', key_), 0
previous_, current_, at_, elapsed_, stored_ = 0, 0, now, now % window_, false
if value then
  local format, last, previous, current = unpack('<BI6I2I2', value)
  if format == 2 then
    format, last, previous, current = unpack('<BI6I7I7', value)
  elseif format ~= 1 then
    error(FOREIGN .. key_)
  end
  if last > now then
    if last - now > window_ then
      -- The clock was wrong: everything that lies ahead is taken to have come now. Written whatever the answer.
      previous, current, last = 0, previous + current, now
      format = current > 65535 and 2 or 1
      value = pack(format == 1 and '<BI6I2I2' or '<BI6I7I7', format, last, previous, current)
      save(key_, value, now - elapsed_ + 2 * window_)
    end
    at_, elapsed_ = last, last % window_
  end
  if at_ - last <= elapsed_ then
    previous_, current_, stored_ = previous, current, current > 0 and format
  elseif at_ - last <= elapsed_ + window_ then
    previous_ = current
  end
  if previous_ > 0 then
    local span, gone = window_, elapsed_
    if window_ > 86400000 then
      span, gone = window_ / 1000, (elapsed_ - elapsed_ % 1000) / 1000
    end
    -- With previous = whole * span + rest, no product is beyond what is exact.
    local rest = previous_ % span
    local share = rest * gone
    weighted = previous_ - (previous_ - rest) / span * gone - (share - share % span) / span
  end
end
left_ = quota_ - current_ - weighted
if left_ < 0 then
  left_ = 0
end

---- answer
local ends = at_ - now + window_ - elapsed_
reset_, when_ = 0, 0
if current_ > 0 then
  reset_ = ends + window_
elseif previous_ > 0 then
  reset_ = ends
end
if cost_ > left_ and cost_ <= quota_ then
  if current_ > quota_ - cost_ then
    when_ = ends + window_ - shrunk_counter(window_, current_, quota_ - cost_)
  else
    when_ = ends - shrunk_counter(window_, previous_, quota_ - cost_ - current_)
  end
end

---- record
local format, current = 1, current_ + cost_
if current > 65535 or previous_ > 65535 then
  format = 2
end
local value = pack(format == 1 and '<BI6I2I2' or '<BI6I7I7', format, at_, previous_, current)
if stored_ == format then
  -- The window of the last write: the key lives for long enough already.
  call('SETRANGE', key_, '0', value)
else
  save(key_, value, at_ - elapsed_ + 2 * window_)
end
left_, reset_, when_ = left_ - cost_, at_ - now + 2 * window_ - elapsed_, at_

---- settle
local start, stamped = at_ - elapsed_, recorded_at_ - recorded_at_ % window_
-- None are left where all were given back, or forgotten.
if stamped == start and current_ > 0 or stamped == start - window_ and previous_ > 0 then
  if stamped == start then
    current_ = math.min(math.max(0, current_ - recorded_) + cost_, DEBT)
  else
    previous_ = math.min(math.max(0, previous_ - recorded_) + cost_, DEBT)
  end
  found = true
  WRITE
end

---- give back
local older = math.min(cost_, previous_)
local newer = math.min(cost_ - older, current_)
if older + newer > 0 then
  previous_, current_ = previous_ - older, current_ - newer
  WRITE
end

---- write
if previous_ + current_ == 0 then
  call('DEL', key_)
else
  local format = math.max(previous_, current_) > 65535 and 2 or 1
  local value = pack(format == 1 and '<BI6I2I2' or '<BI6I7I7', format, at_, previous_, current_)
  save(key_, value, at_ - elapsed_ + (current_ > 0 and 2 or 1) * window_)
end
