#!lua
-- Stores a value: KEYS, ARGV and what it returns are in the chunk kv_set.
-- include: kv_set
return put(ARGV[3], ARGV[4], ARGV[5])
