-- The time is a test's, and says nothing about when the server's clock would have a key expire: so none does.
local call, pack, unpack, sub = redis.call, struct.pack, struct.unpack, string.sub
local KEYS, ARGV = KEYS, ARGV
local now = ARGV[NOW] + 0

local function save(key, value)
  redis.call('SET', key, value)
end
