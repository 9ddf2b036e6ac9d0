#!lua flags=allow-oom
-- Replaces the value of a known revision, also when there is no room for more: see the chunk kv_set.
-- include: kv_set
return put(ARGV[3], ARGV[4], ARGV[5])
