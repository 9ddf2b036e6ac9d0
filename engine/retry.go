package engine

import "time"

// backoff is how long a message nacked after its n-th delivery stays away: d = min(Cap, Base * 2^(n-1)) for an
// exponential policy, then jitter.
func (r Retry) backoff(n uint32, rnd *random) time.Duration {
	var d time.Duration
	switch r.Policy {
	case RetryNone:
		return 0
	case RetryFixed:
		d = r.Base
	case RetryExponential:
		d = r.exponential(n)
	}
	switch r.Jitter {
	case JitterFull:
		return uniform(d, rnd)
	case JitterEqual:
		return d - d/2 + uniform(d/2, rnd)
	case JitterNone:
	}
	return d
}

func (r Retry) exponential(n uint32) time.Duration {
	d := min(r.Base, r.Cap)
	for ; n > 1 && d > 0 && d < r.Cap; n-- {
		if d > r.Cap/2 { // doubling would pass the cap, or overflow
			return r.Cap
		}
		d *= 2
	}
	return d
}

func uniform(d time.Duration, rnd *random) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(rnd.upTo(uint64(d)))
}
