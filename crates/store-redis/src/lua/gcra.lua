-- GCRA as a debt: every unit raises it by the window's length, every millisecond lowers it by the quota. Extra: the burst.
--
--   byte  0   format: 1
--         1   when the debt was this large, 6 bytes
--         7   the debt, 7 bytes; at most 2^53
--        14   the quota under which it was written, 7 bytes; in a value that ends before, the one that asks
--
-- A debt drains at the quota that asks; one above its burst counts as a full burst at the last write. Neither is written unless a cost is
-- admitted. It is over, for all quotas alike, when the quota under which it was written has drained it: that is when the key expires.

---- peek
local value, full = call('GET', key_), extra_ * window_
debt_, ahead_, over_ = 0, 0, false
if value then
  local format, last, debt = unpack('<BI6I7', value)
  if format ~= 1 then
    error(FOREIGN .. key_)
  end
  local under = #value > 14 and unpack('<I7', value, 15) or quota_
  if last - now > window_ then
    -- The clock was wrong: the last write is taken to have come now. Written whatever the answer.
    last, value = now, pack('<BI6I7I7', 1, now, debt, under)
    save(key_, value, now + math.ceil(debt / under))
  end
  -- Products above 2^53 are not exact, but then the debt is over, or nothing fits.
  if last > now then
    ahead_, debt_ = last - now, math.min(debt, full)
    over_ = under ~= quota_ and math.ceil(debt / under)
  elseif (now - last) * under >= debt then
    -- Same as a new key: the time of the last write has no meaning.
    call('DEL', key_)
    value = false
  else
    debt_ = math.max(0, math.min(debt, full) - (now - last) * quota_)
    over_ = under ~= quota_ and math.ceil(debt / under) - (now - last)
  end
end
before_ = value
left_ = math.max(0, full - debt_ - ahead_ * quota_)
left_ = (left_ - left_ % window_) / window_

---- answer
-- How long until no more than this is owed, in the order in which nothing exceeds 2^53.
reset_, when_ = math.ceil(debt_ / quota_), 0
if cost_ > left_ and cost_ <= extra_ then
  when_ = math.ceil((debt_ - (extra_ * window_ - cost_ * window_)) / quota_)
  if over_ and over_ < when_ then
    when_ = over_
  end
  when_ = ahead_ + when_
end
if over_ and over_ < reset_ then
  reset_ = over_
end
reset_ = ahead_ + reset_

---- record
debt_ = debt_ + ahead_ * quota_ + cost_ * window_
left_, reset_, when_ = left_ - cost_, math.ceil(debt_ / quota_), now
save(key_, pack('<BI6I7I7', 1, now, debt_, quota_), now + reset_)

---- settle
-- Nothing that was recorded can be found again, but a charge that was provisional can be taken off the debt.
if UNDO and debt_ > 0 then
  debt_ = math.max(ahead_ > 0 and 1 or 0, debt_ - recorded_ * window_)
  WRITE
end

---- give back
if debt_ > 0 then
  -- A product above 2^53 is not exact, but then nothing is left of the debt. What lies ahead of now, where the clock stepped back,
  -- is not given back.
  debt_ = math.max(ahead_ > 0 and 1 or 0, debt_ - cost_ * window_)
  WRITE
end

---- write
if debt_ == 0 then
  call('DEL', key_)
else
  save(key_, pack('<BI6I7I7', 1, now + ahead_, debt_, quota_), now + ahead_ + math.ceil(debt_ / quota_))
end
