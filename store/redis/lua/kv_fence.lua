#!lua flags=allow-oom
-- Brings the key-value part into the caller's time line, if it is not there yet, and tells which revisions were lost before.
-- KEYS, ARGV: see the chunk kv_expect; no record, and nothing else.
-- Returns the time that the caller has seen, then of each cut the revision before it and its last one.
-- include: kv_expect
join()
return {seen, unpack(cmsgpack.unpack(redis.call('HGET', KEYS[5], 'cuts') or '\144'))}
