-- GCRA as a debt: every unit raises it by the window's length, every millisecond lowers it by the quota. Extra: the burst.
--
--   byte  0   format: 1
--         1   when the debt was this large, 6 bytes
--         7   the debt, 7 bytes; at most burst * window, which is at most 2^53

---- look
local value, full = call('GET', key_), extra_ * window_
debt_ = 0
if value then
  local format, last, debt = unpack('<BI6I7', value)
  if format ~= 1 then
    error(FOREIGN .. key_)
  end
  -- A product above 2^53 is not exact, but then the debt is gone, or as large as it may be.
  debt_ = debt - (now - last) * quota_
  if debt_ <= 0 then
    -- As if never seen: then the time of the last write means nothing either.
    debt_ = 0
    call('DEL', key_)
  elseif debt_ > full or debt_ == full and last ~= now then
    -- Pulled back to a full burst, or just full. Written whatever the answer, so that the wait it implies comes true, whatever
    -- becomes of the quota.
    debt_ = full
    save(key_, pack('<BI6I7', 1, now, debt_), now + math.ceil(debt_ / quota_))
  end
end
left_ = (full - debt_ - (full - debt_) % window_) / window_

---- answer
reset_, when_ = math.ceil(debt_ / quota_), 0
if cost_ > left_ and cost_ <= extra_ then
  -- In this order nothing exceeds 2^53.
  when_ = math.ceil((debt_ - (extra_ * window_ - cost_ * window_)) / quota_)
end

---- record
debt_ = debt_ + cost_ * window_
left_, reset_, when_ = left_ - cost_, math.ceil(debt_ / quota_), now
save(key_, pack('<BI6I7', 1, now, debt_), now + reset_)

---- settle
-- Nothing that was recorded can be found again, but a charge that was provisional can be taken off the debt.
if UNDO and debt_ > 0 then
  debt_ = math.max(0, debt_ - recorded_ * window_)
  WRITE
end

---- give back
if debt_ > 0 then
  -- A product above 2^53 is not exact, but then nothing is left of the debt.
  debt_ = math.max(0, debt_ - cost_ * window_)
  WRITE
end

---- write
if debt_ == 0 then
  call('DEL', key_)
else
  save(key_, pack('<BI6I7', 1, now, debt_), now + math.ceil(debt_ / quota_))
end
