package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/dabba-mq/dabba/store"
)

// refusals are the words with which scripts refuse, having changed nothing.
var refusals = map[string]error{
	"GONE":     store.ErrGone,
	"STALE":    store.ErrStaleConfig,
	"REUSED":   store.ErrKeyReused,
	"NOTFOUND": store.ErrNotFound,
	"CONFLICT": store.ErrConflict,
	"CORRUPT":  store.ErrCorrupt,
}

// hints say what to do about the words with which a server refuses to run a script at all.
var hints = map[string]string{
	"LOADING":     "the server is starting; repeat later",
	"BUSY":        "the server is busy with another client's script; repeat later",
	"MASTERDOWN":  "the server has lost its master; repeat later",
	"CLUSTERDOWN": "the cluster is incomplete; repeat later",
	"TRYAGAIN":    "the cluster is moving these keys; repeat later",
	"MOVED":       "the server is one of a cluster that has these keys elsewhere; name it as redis-cluster://, or if that is so, repeat later",
	"ASK":         "the cluster is moving these keys; repeat later",
	"READONLY":    "the server is a replica; name the master",
	"FORGOTTEN":   "the server was emptied while it ran; repeat later",
	"CLOCK":       "the server's clock and that of this machine do not agree, again and again; look after them",
	"NOREPLICAS":  "too few replicas follow the server; look after them or lower min-replicas-to-write",
	"MISCONF":     "the server cannot write to its disk; look at its log",
	"NOAUTH":      "the server wants a password; put it in the URL",
	"WRONGPASS":   "the server knows no such user and password; correct the URL",
	"NOPERM":      "the server's ACL does not let this user do that; widen it",
	"ERR The user executing the script can't": "the server's ACL does not let this user do that; widen it",
	"ERR ACL failure in script":               "the server's ACL does not let this user do that; widen it",

	"WRONGTYPE": "a key was replaced by something of another type; remove it, and look for what else uses keys of this name",
	"ERR max":   "the server has no room for another client; raise maxclients",

	"ERR DB index":                                   "the server has no database of that number; correct the URL",
	"ERR unknown command":                            "the server is no Redis of version 7.0 or later, or someone has renamed a command; correct the URL, or the server",
	"ERR unknown command 'sentinel'":                 "the server is no sentinel; name the sentinels, or it alone as redis://",
	"ERR unknown command 'get'":                      "the server is a sentinel; name it as redis-sentinel://host:26379/<name of the master>",
	"ERR unknown command 'cluster'":                  "the server is a sentinel, or one that hides whether it is of a cluster; name it as redis-sentinel:// or redis://",
	"ERR This instance has cluster support disabled": "the server is not one of a cluster; name it as redis://",
}

// unfitError refuses a server that cannot be relied on.
type unfitError struct{ error }

// fault is what an error of the client says in words of the contract. If the call may have changed something, only an
// answer of the server can say that it has not.
func fault(err error, changing bool) error {
	if u := (*unfitError)(nil); errors.As(err, &u) {
		return u.error
	}
	if answer := redis.Error(nil); errors.As(err, &answer) {
		return answered(answer.Error(), changing)
	}
	switch {
	case errors.Is(err, redis.ErrClosed):
		return store.ErrClosed
	case changing:
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// answered is the same for an error that the server gave.
func answered(text string, changing bool) error {
	if half, ok := strings.CutPrefix(text, "HALF "); ok {
		kind := store.ErrUnavailable
		if changing {
			kind = store.ErrUnknown
		}
		if hint := hintOn(half); hint != "" {
			half = hint + ": " + half
		}
		return fmt.Errorf("%w: a script failed, and is made up for with the next call: %s", kind, half)
	}
	// Redis puts ERR before a refusal of one word.
	word, rest, _ := strings.Cut(strings.TrimPrefix(text, "ERR "), " ")
	if kind := refusals[word]; kind != nil {
		if rest == "" {
			return kind
		}
		return fmt.Errorf("%s: %w", rest, kind)
	}
	if word == "OOM" {
		return fmt.Errorf("%w: the server has reached its maxmemory; raise it, or let messages be consumed", store.ErrFull)
	}
	if hint := hintOn(text); hint != "" {
		kind := store.ErrUnavailable
		if changing && word == "WRONGTYPE" { // what the script wrote before stays
			kind = store.ErrUnknown
		}
		return fmt.Errorf("%w: %s: %s", kind, hint, text)
	}
	if changing { // a script that failed half-way
		return fmt.Errorf("%w: %s", store.ErrUnknown, text)
	}
	return fmt.Errorf("%w: %s", store.ErrCorrupt, text)
}

// hintOn finds the hint on what a server says: the one for the longest beginning of it.
func hintOn(text string) string {
	text = strings.ReplaceAll(text, "`", "'") // as Redis 6 has it
	found := ""
	for begin := range hints {
		if strings.HasPrefix(text, begin) && len(begin) > len(found) {
			found = begin
		}
	}
	return hints[found]
}
