package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// rememberTime bounds entering the records again.
const rememberTime = 10 * time.Second

// isForgotten says that a script has refused to make something since the record of its tag is not the one that is known.
func isForgotten(err error) bool { return err != nil && redis.HasErrorPrefix(err, "FORGOTTEN") }

// recordHolds says whether the record of a tag is still the one that is known, and says what it said. One that is on another
// server is no reason for doubt.
func (v *server) recordHolds(ctx context.Context, c redis.Cmdable, tag int) (bool, error) {
	bump, made := v.bumps[tag].Load(), v.store.records[tag].Load()
	if bump == unknownBump || made == 0 {
		return true, nil
	}
	have, err := c.HMGet(ctx, v.store.fenceKey(tag), "bump", "made").Result()
	switch {
	case elsewhere(err):
		return true, nil
	case err != nil:
		return true, err
	}
	return have[0] == strconv.FormatInt(bump, 10) && have[1] == strconv.FormatInt(made, 10), nil
}

// remember enters the records of a server again that was emptied while it ran: with FLUSHALL, say. All of its tags have a higher
// bump then, as if another process had taken its place, unless that of the tag in which it was noticed is known by now.
func (v *server) remember(ctx context.Context, tag int) error {
	ctx, cancel := context.WithTimeout(ctx, rememberTime)
	defer cancel()
	if err := v.enterAgain(ctx, tag); err != nil {
		return err
	}
	return v.store.format(ctx)
}

// enterAgain does so over a connection of its own. If that leads to another process, entering it is left to the next ordinary
// one.
func (v *server) enterAgain(ctx context.Context, tag int) error {
	v.knowing.Lock()
	defer v.knowing.Unlock()
	client := v.asking() // whose connections do not wait for meeting
	defer client.Close() //nolint:errcheck // nothing is sent over it
	c := client.Conn()
	defer c.Close() //nolint:errcheck // nor over this
	text, err := c.Info(ctx).Result()
	if err != nil {
		return err
	}
	facts := parseInfo(text)
	v.meeting.Lock()
	defer v.meeting.Unlock()
	here, have := identityOf(facts), v.identity.Load()
	if have == nil || facts["role"] != "master" || !have.same(here) {
		return nil
	}
	if holds, err := v.recordHolds(ctx, c, tag); holds || err != nil {
		return err
	}
	return v.fence(ctx, c, here)
}
