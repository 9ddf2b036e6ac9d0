package engine

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func startClock(t *testing.T) *clock {
	t.Helper()
	c := newClock(time.Now)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		c.run(done)
		close(stopped)
	}()
	t.Cleanup(func() {
		close(done)
		<-stopped
	})
	return c
}

func TestClockRingsEachAlarmOnceAndOnTime(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		c := startClock(t)
		rnd := rand.New(rand.NewPCG(seed, 0))
		var rung atomic.Int64
		const alarms = 1000
		want := int64(0)
		for range alarms {
			at := c.moment() + moment(rnd.IntN(1000))*moment(time.Millisecond)
			a := newAlarm(func() {
				rung.Add(1)
				if now := c.moment(); now != at {
					t.Errorf("an alarm for %d rang at %d", at, now)
				}
			})
			c.soonest(a, at+moment(rnd.IntN(2))*moment(time.Hour))
			if rnd.IntN(3) == 0 {
				c.off(a)
				continue
			}
			c.soonest(a, at)
			want++
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := rung.Load(); got != want {
			t.Errorf("%d alarms rang, want %d", got, want)
		}
		if n := len(c.alarms); n != 0 {
			t.Errorf("%d alarms are left", n)
		}
	})
}

func TestClockDoesNotRingWhatIsOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startClock(t)
		a := newAlarm(func() { t.Error("an alarm rang that was off") })
		c.soonest(a, c.moment()+10)
		c.off(a)
		c.off(a)
		time.Sleep(time.Second)
		synctest.Wait()
	})
}
