package redis

import "github.com/dabba-mq/dabba/store"

// portion is what a selection chooses in one shard.
type portion struct {
	part   part
	choice store.Selection
}

// portions are those of the shards that may have something of a selection, in order.
func (q *shardedQueue) portions(sel store.Selection) []portion {
	first, from := inner(sel.From)
	last, upTo := uint64(len(q.parts)-1), store.Seq(0)
	if sel.UpTo != 0 {
		if shard, own := inner(sel.UpTo); shard <= last {
			last, upTo = shard, own
		}
	}
	var list []portion
	for shard := first; shard <= last; shard++ {
		mine := portion{part: q.parts[shard], choice: sel}
		mine.choice.From, mine.choice.UpTo = 0, 0
		if shard == first {
			mine.choice.From = from
		}
		if shard == last && upTo != 0 {
			mine.choice.UpTo = upTo
		} else if shard == last && sel.UpTo != 0 && sel.UpTo>>shardShift == store.Seq(last) {
			continue // it ends before the first sequence of this shard
		}
		if sel.Seqs != nil {
			if mine.choice.Seqs = ownSeqs(sel.Seqs, shard); len(mine.choice.Seqs) == 0 {
				continue
			}
		}
		list = append(list, mine)
	}
	return list
}

// ownSeqs are those of one shard.
func ownSeqs(seqs []store.Seq, of uint64) []store.Seq {
	var list []store.Seq
	for _, seq := range seqs {
		if shard, own := inner(seq); shard == of {
			list = append(list, own)
		}
	}
	return list
}

// through calls do with the shards that may have something of a selection until it says that this was enough, or that there
// is more to come in a shard. It returns where to go on, or 0. do returns where to go on in its shard.
func (q *shardedQueue) through(sel store.Selection, do func(part, store.Selection) (bool, store.Seq, error)) (store.Seq, error) {
	list := q.portions(sel)
	for i, p := range list {
		enough, next, err := do(p.part, p.choice)
		switch {
		case err != nil:
			return 0, err
		case next != 0:
			return p.part.outer(next), nil
		case enough && i+1 < len(list):
			return list[i+1].part.outer(max(list[i+1].choice.From, 1)), nil
		case enough:
			return 0, nil
		}
	}
	return 0, nil
}
