-- Two sliding logs of one subject, decided together: a request counts in both or in neither.
-- KEYS: the logs. ARGV: window in ms and quota of each, what makes the member unique among all callers.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window, quota = tonumber(ARGV[1]), tonumber(ARGV[2])
local longer_window, longer_quota = tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
redis.call('ZREMRANGEBYSCORE', KEYS[2], 0, now - longer_window)
local left = quota - redis.call('ZCARD', KEYS[1])
local longer_left = longer_quota - redis.call('ZCARD', KEYS[2])
if left < 1 or longer_left < 1 then
    return {0, 0}
end
local member = time[1] .. time[2] .. ARGV[5]
redis.call('ZADD', KEYS[1], now, member)
redis.call('ZADD', KEYS[2], now, member)
redis.call('PEXPIRE', KEYS[1], window)
redis.call('PEXPIRE', KEYS[2], longer_window)
return {1, math.min(left, longer_left) - 1}
