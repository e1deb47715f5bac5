-- The sliding counter of the textbooks: a key per aligned window, the previous one weighted by its overlap.
-- KEYS: what the keys of the windows begin with. ARGV: window in ms, quota.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window, quota = tonumber(ARGV[1]), tonumber(ARGV[2])
local number = math.floor(now / window)
local key = KEYS[1] .. ':' .. number
local previous = tonumber(redis.call('GET', KEYS[1] .. ':' .. number - 1) or 0)
local current = tonumber(redis.call('GET', key) or 0)
local used = math.floor(previous * ((number + 1) * window - now) / window) + current
if used >= quota then
    return {0, 0}
end
redis.call('INCR', key)
redis.call('PEXPIRE', key, 2 * window)
return {1, quota - used - 1}
