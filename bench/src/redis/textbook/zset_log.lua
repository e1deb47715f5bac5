-- The sliding log of the textbooks: a sorted set with a member per request, scored with its time.
-- KEYS: the log. ARGV: window in ms, quota, what makes the member unique among all callers.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window, quota = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
local count = redis.call('ZCARD', KEYS[1])
if count >= quota then
    return {0, 0}
end
redis.call('ZADD', KEYS[1], now, time[1] .. time[2] .. ARGV[3])
redis.call('PEXPIRE', KEYS[1], window)
return {1, quota - count - 1}
