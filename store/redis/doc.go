// Package redis keeps everything in Redis, 7.0 or later, so that many stateless nodes can serve the same queues and logs:
// in one server, in one with replicas that Sentinel watches over, or in a cluster. Every transition of a queue is one Lua
// script: the rules of the state machine in store/internal/model stand here once more, in the files lua/*.lua. This
// comment is the specification of what is kept.
//
// # Keys
//
// All keys begin with the prefix of the options. Sequences, tokens and milliseconds stay below 2^53, since Lua counts
// in doubles. Numbers that may be larger (generations) are decimal text. Within sorted sets a sequence is a member of
// 16 decimal digits, so that members of one score are ordered by sequence.
//
//	{kv}version       string: the version of this layout, 1. Whoever opens another one refuses with ErrVersion.
//	{q}all, {l}all    sorted sets, all scores 0: the generations of all queues and of all logs, 20 decimal digits each. A
//	                  generation is noted before it is made and struck off after it was dropped, so there may be
//	                  some that are not there.
//	{q}moves          sorted set: the queues with moves under way, by when the last one was noted
//	{kv}v, {kv}n      hashes of the key-value part: key → value, key → revision
//	{kv}k             sorted set, all scores 0: its keys, for listing in order
//	{kv}r             string: the last revision given out
//	{kv}clock         hash: the record of elapsed time, see the section on it: fence, correction, elapsed, clock, by, protected
//	{kv}c             hash: fenced and cuts, as of a queue, of which the commits are the revisions
//
// What belongs to a generation is in keys with one of 256 tags, its remainder in two hexadecimal digits, so that the news
// of all can be heard on 256 channels, each in the slot of what it is about.
//
//	{<tag>}q<generation>:<letter>   a queue
//	{<tag>}l<generation>:<name>     a log
//	{<tag>}news                     channel of announcements
//	{<tag>}fence, {kv}fence         hash: run and past, of the process that served the tag last; bump; and made, the time in
//	                                microseconds at which the record was made, which tells it from all others; see Failover
//
//	{<tag>}q<generation>.<i>:<letter>   shard i of a queue, from 1 on: see the section on shards
//
// The letters of a queue are these; only keys that hold something exist:
//
//	c  hash           counters and settings, see below. The queue exists if it has settings. For an hour after it was dropped
//	                  there is the field dropped instead.
//	s  stream         the messages. The id of an entry is <sequence>-1, its fields are body and facts: what does not change of
//	                  it (facts_of in lua/queue_message.lua), with where a moved message was first sent
//	                  ("<generation>:<sequence>") and what else is known of its past (encodeOrigin)
//	b  sorted set     messages that were taken out of the stream: score sequence, member sequence in 16 digits, then the
//	                  fields. A node of a stream stays as large as it was until its last entry leaves, so the oldest
//	                  entries are kept here once few are left in each node.
//	t  hash           touched messages: sequence in 16 digits → record (pack_touched in lua/queue_message.lua). A message
//	                  without a record is fresh: ready since it was sent, never received.
//	k  sorted set     their sequences: score sequence, member sequence
//	v  hash           sequence → the last 15 deliveries of the message that ended (pack_visits)
//	a  sorted set     ready messages by age: score the tick of first availability, member sequence
//	r  sorted set     in a queue with lanes the same messages by lane, all scores 0: member lane, tick (0 in a FIFO queue)
//	                  and sequence, 16 digits each. The lane is the number of the group, or the level. In a FIFO
//	                  queue also what locks its group, leased or backing off: member "L", lane and sequence.
//	l  sorted set     leased messages: score end of the lease, member sequence
//	d  sorted set     delayed messages and those that back off: score end of the delay, member sequence. For a message that waits
//	                  for the wall clock the end, here and in its record, is 10^15 and what that has to show.
//	x  sorted set     ready and delayed messages with a time to live: score its end, member sequence
//	z  sorted set     dead messages: score tick of first availability, member sequence
//	g  hash           groups with messages: name → record (pack_group): number, counts, turn, rate
//	n  sorted set     their names, all scores 0
//	w  sorted set     the groups that may be served: score number of leased messages (0 in a FIFO queue), member turn in
//	                  16 digits, then the name
//	y  sorted set     groups that could be served but for their rate: score until when, member name
//	o  hash           idempotency keys of sends → first result (pack_once)
//	p  sorted set     when their windows end
//	u  hash           "d" + deduplication key → sequence, "a" + attempt → token and sequences
//	e  sorted set     when their windows end
//	m  hash           messages that were moved here: from → sequence
//	f  sorted set     spans of sequences that were moved away: score the last of a span, member the first. The lowest are
//	                  forgotten when there are more than 65,536.
//	h  list           messages that left, the latest last (pack_departed), as many as the settings say
//	j  hash           moves that go out and are not concluded: move id → intent (save_intent in lua/queue_moves.lua)
//	i  sorted set     moves that came in, and with an x before them those that never may: the score is until when one may
//	                  come in that is not known here
//
// Fields of c:
//
//	settings          as given to Configure, by name (pack_settings)
//	revision          of the settings
//	now               the latest queue time of a change: it never runs back
//	next              sequence of the next message
//	token             the last one given out
//	turns             of groups that were served or became known
//	moves             that went out
//	commits           changes: calls that changed something
//	fenced            the last bump that the queue was told of, see Failover; 0 if there was none
//	cuts              of the last 32 times that it moved on then, the commit before and the last one that was passed over, as
//	                  MessagePack; absent if it never did
//	kept              how many messages are in b
//	removed           how many left since it was looked whether the stream is sparse
//	ready, leased, delayed, dead, expiring
//	                  how many messages are in a, l, d, z and x
//	bytes, leased_bytes, dead_bytes
//	                  sums of sizes: of all messages, of leased and of dead ones
//	ends              when the next lease, delay or wait of a group for its rate ends; -1 if there is none
//	waits             "a" and by how much the wall clock was ahead of elapsed time when ends was computed, if messages wait for the
//	                  wall clock; else empty
//	ahead, ahead_ns   what the queue's rate counts, in milliseconds and the nanoseconds beyond
//	work              what a change of settings has left to do, in bounded steps, before anything else: "lay <sequence>" puts
//	                  the messages from there on into lanes, "arrange <name>" decides anew which groups from that name on
//	                  may be served, "repair " and what follows from it puts the queue right; else empty
//	pending           while messages are inserted: next before that, and the id of the move
//
// The names of a log are these:
//
//	c     hash        pending, the key of the last append that had one, until it is counted; (for an hour after the log was dropped only the field dropped) revision, partitions, age and bytes of
//	                  retention (milliseconds, 0 for none), now (as above), fenced (the bump at its creation, absent for
//	                  none), and p<number> for each partition that had a record: first, next, gone, total, call and kept,
//	                  and after a failover fenced, and beginning and end of each hole, see lua/log.lua
//	<n>s  stream      the records of partition n. The id of an entry is <offset>-1. Fields, always in this order: size, time
//	                  (milliseconds; of a record without a time of its own @ and when it was appended), body
//	<n>f  hash        facts of these records in blocks of 64, see lua/logfacts.lua
//	o     hash        idempotency keys of appends → first result, as MessagePack
//	e     sorted set  when their windows end
//
// # Shards
//
// A queue with shards is kept as that many queues, which scripts take for queues of their own: each has all the letters,
// its counters, its settings and its moves. Shard 0 has the keys that a queue without shards has. The tags of the shards
// are at equal distances in the circle of all tags ordered by slot, from the generation's tag on, so that the leaders of
// a cluster have about as many each. In sequences that leave this package the shard is in bits 47 to 52; what a script
// sees is below 2^47.
//
// Scripts are given "<generation>:<shard>" for the generation then, also for shard 0, and use it in announcements and ids
// of moves ("<generation>:<shard>:<number>"). One that is given the generation alone by a process that does not know of
// the shards answers with how many there are and does nothing, so it costs a queue without shards nothing to ask. The
// number never changes.
//
// Shard 0 is made first and dropped last, so there are no others without it, and the generation is enrolled as long as it
// is there. A shard may be missing after a process has ended in between: calls on it are ErrGone until someone configures
// the queue again. A move goes into the shard that its id chooses by a hash, so that each of its steps, whoever makes it,
// finds the same one. In {q}moves and in intents queues are named by their generations alone; who looks after moves looks
// into all shards.
//
// # Scripts
//
// A script is put together from a file of its own and the shared files that it and they include. KEYS of a queue's script
// are the keys above, in the order c s t v a r l d x z g n w y o p u e m f h j i k b, and the channel. ARGV begins with
// elapsed time and the bump (lua/clock.lua), the generation and the revision of the settings that the call was made for, or
// nothing if it is for any, and goes on with what the header of the script says. The reply is an array of queue time, a
// status and the result, or an error (GONE, STALE, REUSED). The status is
//
//	1  done; the number of the commit comes next, 0 if nothing was changed
//	0  much was due, and a bounded part of it was done but not yet the call: make the call again
//	2  a change of settings has something left to do: run queue_work, then make the call again
//	3  the queue has so many shards, and the caller takes this one for all of it
//
// Work per call is bounded: by the size of the call, and 1,000 messages beside that.
//
// A script that fails keeps what it has written: a key of another type, or a command that the ACL denies, is found out in its
// middle. So each one is run within a function whose failure is caught. A queue is then marked ("repair " in work, or if that
// cannot be written, by removing ends), and put right before its next call, in bounded steps (lua/queue_repair.lua): what the
// script has appended and not counted is taken back, and indexes and counts are made anew from s, b and t. The order of writes
// lets that suffice: entries are appended before next is written and deleted before their records, intents of moves are written
// after all else and removed last, and pending tells of an insert whether it was counted. The call fails as unknown.
//
// To make the functions of the state machine takes a server longer than to lease ten messages. So before they are made,
// sends, claims and settlements try what most of them come to (lua/queue_quick.lua), in queues without lanes, limits and
// history of which nothing is due. Whatever that does not know it declines before it has written anything.
//
// # Announcements
//
// Scripts announce in the transition itself, with SPUBLISH on the channel of their tag:
//
//	q<generation>[:<shard>]       a claim or send that waits in the queue may go on; also when a sweep finds that time has
//	                              made messages ready
//	c<generation>[:<shard>]       the queue has other settings, or is gone
//	l<generation>:<partition>     records were appended
//
// # Moves
//
// Two queues may be in different slots, and on a cluster on different servers, so a move is several steps, each one script:
//
//  1. note: both queues are noted in {q}moves.
//  2. mark: in the source, the messages become moving: in no count, index or lane, but still stored; the intent is
//     noted in j, with a new id. Nobody can claim or settle them any more.
//  3. insert: the target stores them and notes the id in i, so that a repeat is harmless.
//  4. delete: the source removes the messages and the intent.
//  5. forget: the target removes the id, when half a minute has passed since step 2 and the source knows nothing of it.
//
// Every step can be repeated, by any process, and each process looks every few seconds for moves that stand still. What keeps
// two of them from moving something twice, however long one of them pauses:
//
//   - The target inserts no id that it does not know later than half a minute after step 2. So it may forget one after
//     that. The source gives a move that is late another id.
//   - Messages become again what they were only when the target is gone, or after it has noted that it refuses this id.
//   - A move begins within half a minute after it was noted; the note stays for two minutes.
//
// # Servers
//
// A call goes to the server that has its keys: the only one, the one that sentinels name, or a master of a cluster, which
// may send it on to another (topology.go). To each server there are a few connections for scripts, and what is called
// while one is under way goes over it together, next (lanes.go). Calls that wait for replicas have connections of their
// own, with one WAIT or WAITAOF for all that went together (acks.go). One more connection asks the server every second
// who it is and who follows it (server.go, pulse.go), and one hears the channels of its tags (watch.go). What a process
// is told apart by stands in fence.go.
//
// Four locks are held while a server is asked, since nobody could go on without the answer: counting of [Store], that of
// elapsed time, then knowing and meeting of a server, in this order. All others guard fields only and are taken last, one at a time.
//
// # Elapsed time
//
// All times above are elapsed time in milliseconds, which begins as what the clock of the server shows that has the
// key-value part. It does not notice when the clock of a server is set, or that of a node, or when a server with another clock
// takes over. Redis expires one thing by its own clock, and that may be early: the trace of a generation that was dropped. Without it a
// process that is late may make that generation once more, which the catalog does not know, and whoever compares the two drops.
//
//   - A script computes elapsed time from the clock of its server and a correction, and compares that with the estimate of the
//     node, which has a clock that is never set. If they differ by more than a second it changes nothing, and the node
//     looks for the reason and makes the call again. A call may be late by more on later tries, so a slow server is used all the
//     same.
//   - The correction of the server with the key-value part is in {kv}clock. A node replaces it when it finds that the
//     clock was set, and makes the fence rise. The others find either the new one or that theirs still holds. So all nodes
//     agree. Each node reads it every second, follows small differences, and writes elapsed time, the clock, and its own id (by)
//     when nobody has for a second. One whose estimate is wrong while others keep the record takes it from that.
//   - The other servers of a cluster are corrected by each node for itself, with its estimate. This is precise to about half the time
//     that asking the server for its clock takes.
//   - A node that starts goes by the record when it was written in the last three seconds. Else it waits up to 2.5 s for another
//     node to write it, unless the last one that did has ended orderly (by is empty). If none does, none ran: elapsed
//     time resumes with what is recorded and the interval by the server's clock, at least zero. After an interval that is negative
//     or longer than an hour, retention and times to live remove nothing until protected, for 15 minutes.
//   - If there is no record, as before there was this rule, the latest time that a queue or log has recorded stands for it.
//
// The wall clock is that of the node which makes the call: scripts are given by how much it is ahead of elapsed time. A message
// that waits for the wall clock is due when that of any node shows its time, and stays due. Times that leave this package
// are shown by the wall clock as it is set now (shown.go).
//
// # Failover
//
// A replica that becomes the master may not have heard of the last changes that its master acknowledged, and a server that
// starts again may have lost them from its files. What was done and what is given out after that goes on from an earlier
// moment: it is another time line. The rules are:
//
//   - Each tag, and the key-value part, has a record of the process that served it last. A store that meets another one,
//     before it uses a connection to it, enters that one and makes the bump of the tag rise: a time in milliseconds. All calls
//     carry the bump that the server has told which they go to, and the highest one counts, whoever brings it.
//   - The first script that brings a higher bump than a queue, a partition of a log or the key-value part knows of, moves
//     on all counters there whose values leave the server, so that none is given out in two time lines: of a queue, with any
//     call, next, token, moves and commits; of the key-value part, with a change, the revision. They become one more than
//     the bump in milliseconds since 2025 times 64, or than the present value and 2^26, if that is more. So what is lost
//     must not have been more than 2^26 of a kind, or if another failover is lost with it, 64 a millisecond since that.
//   - A partition moves on with an append: to a multiple of 2^18, by the same rule with 256 a millisecond and 2^20. It
//     notes the offsets between as a hole. No record is ever there, and Fetch says where to go on. Holes are forgotten
//     when all before them is removed, but for the last one. In an aligned stretch of 2^18 offsets there are never
//     records of two time lines, so what is known of blocks of records holds.
//   - What is made while the tag has a bump may be what was lost and is made again. A queue then begins as if it had moved
//     on. A log does so if its generation was enrolled before, or the process has known it; else it is new and begins at 0.
//   - What looks only does not move on. Until something is appended, the offsets of lost records are beyond the end.
//   - A server that is emptied while it runs is the same process, but its records are gone, or others, which whoever started
//     since has made. A store that finds another record than the one it knows makes the bump of all tags of that server rise,
//     unless another store was faster (emptied.go). It looks at one record every second, at that of each tag in turn, and
//     each script that makes what may have been there before (a queue, a log, a value) is told which record is known, and
//     refuses if it is not there: so nothing is given out twice in that second. What goes on with something that is there
//     needs no look: it was not lost.
//
// The rest needs no such care, since it never leaves the server, or since it is lost together with what it speaks of:
//
//   - turns, the numbers of groups and lanes, kept and visits are known inside only.
//   - Idempotency and deduplication keys and attempts are chosen by clients. If the server still has one it also has what
//     was made under it; if not, a repeat makes it again, with other numbers.
//   - The target of a move may have lost that it inserted or refused an id, and the source that it gave one out. A new
//     intent has an id that was never given out, so it is not taken for one that is done. A lost insert can be made again
//     as long as the source still has its intent; if that was deleted, the messages are lost with the insert, and
//     counted. A lost mark leaves messages in both queues, which is a second delivery. So is a refusal that the target
//     has lost, if the insert that it was to forbid is still on its way.
//   - Where a moved message was first sent is a sequence that the source never gives out again.
//
// What is lost is counted. A commit, revision or offset that was passed over is not in the present time line, so a change with
// that number is lost. Each store remembers the last 65,536 answers that it was given, with the bump that their calls carried,
// and after a failover asks the queues, partitions and revisions that they are about which numbers were passed over
// (lua/queue_fence.lua, log_fence.lua, kv_fence.lua), which makes them move on. Its own changes are counted exactly, by
// kind. Between the last commit that is still there and the last lost one that it was told of itself, the others were made
// by others. What an old master answers late, with an older bump, is counted when it comes.
package redis
