-- Leases of a log, after a peek at it.

---- lease
-- Records the request of a node, and answers what it may use.
local entries_of, _, _, insert, _, write_leases = rare_log(save)
local node, sequence = ARGV[1], math.min(ARGV[2] + 0, 9007199254740991)
local hold, want = math.min(ARGV[3] + 0, 2251799813685248), math.min(ARGV[4] + 0, quota_)
local demand = math.max(1, math.min(ARGV[5] + 0, 2251799813685248))
local length = math.max(1, math.min(ARGV[6] + 0, window_))
local leases = leases_
if not leases then
  local entries = new_ > 0 and entries_of(key_, at_, window_) or {}
  leases = { epoch = 0, rows = {}, entries = entries, total = total_, leased = 0 }
end
local rows = leases.rows
local own, first
for index = 1, #rows do
  if rows[index][1] == node then
    own = index
  elseif rows[index][6] <= at_ and (not first or rows[index][6] < rows[first][6]) then
    first = index
  end
end
if own and sequence <= rows[own][2] then
  return 'stale'
end
if own then
  table.remove(rows, own)
elseif #rows >= 64 then
  -- The lease that lapsed first becomes an entry. Without one, what the node holds counts until its present lease ends.
  local used_at, units = at_ + length, hold
  if first then
    used_at, units = rows[first][6], rows[first][3]
    table.remove(rows, first)
  end
  units = math.min(units, DEBT - leases.total)
  if units > 0 then
    insert(leases.entries, used_at - used_at % extra_ + extra_ - 1, units, 65536)
    leases.total = leases.total + units
  end
  if not first then
    write_leases(key_, leases, at_, window_)
    return 'full'
  end
end
local others, lapsed, wants, live = 0, 0, want, {}
for index = 1, #rows do
  local row = rows[index]
  others = others + row[3]
  if row[6] > at_ then
    live[#live + 1] = { math.min(row[4], quota_), row[5] }
    wants = wants + math.min(row[4], quota_)
  else
    lapsed = lapsed + row[3]
  end
end
local room = math.max(0, quota_ - leases.total - others)
local capacity = math.max(0, quota_ - leases.total - lapsed)
local target = want
if wants > capacity then
  -- Water-filling, with numbers of which products are exact.
  local unit, weight, most = 1, 1, demand
  while math.floor(capacity / unit) > 1048576 do
    unit = unit * 2
  end
  for index = 1, #live do
    most = math.max(most, live[index][2])
  end
  while math.floor(most / weight) > 1048576 do
    weight = weight * 2
  end
  local own_want, own_demand = math.floor(math.min(want, capacity) / unit), math.max(1, math.floor(demand / weight))
  local left, sum = math.floor(capacity / unit), own_demand
  for index = 1, #live do
    local other_want, other_demand = math.min(live[index][1], capacity), live[index][2]
    live[index] = { math.floor(other_want / unit), math.max(1, math.floor(other_demand / weight)) }
    sum = sum + live[index][2]
  end
  local part_left, part_sum, suffices = 0, 1, false
  for _ = 1, 3 do
    local left_before, sum_before = left, sum
    for index = 1, #live do
      local other_want, other_demand = live[index][1], live[index][2]
      if other_want * part_sum >= other_demand * part_left and other_want * sum_before < other_demand * left_before then
        left, sum = left - other_want, sum - other_demand
      end
    end
    suffices = own_want * sum_before <= own_demand * left_before
    if suffices or left == left_before then
      break
    end
    part_left, part_sum = left_before, sum_before
  end
  target = math.min(want, suffices and capacity or math.floor(left * own_demand / sum) * unit)
end
target = want == 0 and 0 or math.max(1, target)
-- A little more than the target is not taken away.
local allowance = target
if hold <= target + math.floor(target / 32) + 1 then
  allowance = math.max(hold, target)
end
allowance = math.min(allowance, room)
local units = math.max(hold, allowance)
if units > 0 or want > 0 then
  rows[#rows + 1] = { node, sequence, units, want, demand, at_ + length, length }
end
write_leases(key_, leases, at_, window_)
do
  return pack('<I7I7I7I6', allowance, math.max(0, room - units), leases.epoch, at_)
end

---- close
-- Ends a lease: its row goes, and its uses become entries.
local entries_of, _, _, insert, _, write_leases = rare_log(save)
local node, sequence = ARGV[1], math.min(ARGV[2] + 0, 9007199254740991)
local leases = leases_
if not leases then
  local entries = new_ > 0 and entries_of(key_, at_, window_) or {}
  leases = { epoch = 0, rows = {}, entries = entries, total = total_, leased = 0 }
end
for index = 1, #leases.rows do
  if leases.rows[index][1] == node then
    if sequence <= leases.rows[index][2] then
      return 'stale'
    end
    table.remove(leases.rows, index)
    break
  end
end
for part = 1, 8 do
  local used_at = math.max(0, at_ - ARGV[1 + 2 * part])
  local stamp, units = used_at - used_at % extra_ + extra_ - 1, math.min(ARGV[2 + 2 * part] + 0, DEBT - leases.total)
  if units > 0 and stamp + window_ > at_ then
    insert(leases.entries, stamp, units, 65536)
    leases.total = leases.total + units
  end
end
write_leases(key_, leases, at_, window_)
do
  return 'closed'
end

---- prepay
-- Prepaid units are free for the charge that comes with them. A denial writes nothing, and so leaves them in their row.
if leases_ then
  local units = math.min(ARGV[FIRST + 3] + 0, cost_)
  for index = 1, #leases_.rows do
    local row = leases_.rows[index]
    if row[1] == ARGV[FIRST + 1] and row[2] == ARGV[FIRST + 2] + 0 and row[3] >= units then
      row[3] = row[3] - units
      leases_.leased = leases_.leased - units
      left_ = math.max(0, quota_ - total_ - leases_.leased)
    end
  end
end
