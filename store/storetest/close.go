package storetest

import (
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

var closeCases = []testCase{
	{"pings while open", closePing},
	{"describes itself", closeInfo},
	{"refuses every call afterwards", closeRefuses},
}

func closePing(f *fixture) {
	f.wantError("Ping", f.store.Ping(f.Context()), nil)
}

func closeInfo(f *fixture) {
	info := f.store.Info()
	if info.Name == "" || info.Promise == "" {
		f.Errorf("Info() = %+v, want a name and a promise", info)
	}
	f.equal("Info().Durable", info.Durable, f.harness.Reopen != nil)
}

func closeRefuses(f *fixture) {
	q, other := f.queue(store.Settings{}), f.queue(store.Settings{})
	f.send(q, "a")
	i := items(f.wantClaim(q, 1, "a"), store.Done, 0)
	f.wantError("Close", f.store.Close(), nil)
	ctx := f.Context()
	for call, do := range map[string]func() error{
		"Send": func() error {
			_, err := f.store.Send(ctx, store.SendParams{Queue: q, Revision: 1, Entries: entries("b")})
			return err
		},
		"Claim": func() error {
			_, err := f.store.Claim(ctx, f.claimParams(q, 1))
			return err
		},
		"Settle": func() error {
			_, err := f.store.Settle(ctx, store.SettleParams{Queue: q, Revision: 1, Items: i})
			return err
		},
		"Move": func() error {
			_, err := f.store.Move(ctx, store.MoveParams{Source: q, Target: other, Select: theDead, Limit: 1})
			return err
		},
		"Stats":     func() error { _, err := f.store.Stats(ctx, q); return err },
		"Configure": func() error { return f.store.Configure(ctx, q, store.Settings{Revision: 2}) },
		"Drop":      func() error { return f.store.Drop(ctx, q) },
		"Sweep":     func() error { _, err := f.store.Sweep(ctx, q); return err },
		"Queues":    func() error { _, err := f.store.Queues(ctx, 0, 1); return err },
		"Get":       func() error { _, err := f.store.Get(ctx, "k"); return err },
		"Put":       func() error { _, err := f.store.Put(ctx, "k", nil, 0); return err },
		"Delete":    func() error { return f.store.Delete(ctx, "k", store.AnyRevision) },
		"List":      func() error { _, err := f.store.List(ctx, "", "", 1); return err },
		"Ping":      func() error { return f.store.Ping(ctx) },
	} {
		f.wantError(fmt.Sprintf("%s after Close", call), do(), store.ErrClosed)
	}
}
