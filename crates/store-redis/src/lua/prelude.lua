-- The time is the server's, read once: all requests of a call are decided at the same millisecond.
local call, pack, unpack, sub = redis.call, struct.pack, struct.unpack, string.sub
local KEYS, ARGV = KEYS, ARGV
local time = call('TIME')
local micros = time[2] + 0
local now = time[1] * 1000 + (micros - micros % 1000) / 1000

-- A key lives while its state matters. tostring would not write out all digits, and redis.call would take longer.
local function save(key, value, until_ms)
  redis.call('SET', key, value, 'PXAT', string.format('%d', until_ms))
end
