-- Forgets a subject: all of its keys.
for at = 1, #KEYS do
  redis.call('DEL', KEYS[at])
end
return 'done'
