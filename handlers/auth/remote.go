package auth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

const (
	refreshInterval = 15 * time.Minute
	// unknownKeyInterval spaces the fetches that tokens with unknown key ids cause, so that forged ones cannot flood
	// the identity provider.
	unknownKeyInterval = 10 * time.Second
	fetchTimeout       = 5 * time.Second
	maxSetBytes        = 1 << 20
)

// errUnavailable: no key set was fetched so far.
var errUnavailable = errors.New("key set not fetched yet")

// remote holds the keys of a JWKS URL. A nil remote has generation 0.
type remote struct {
	set  *keySet
	keys keyfunc.Keyfunc
}

// fetch gets the keys for the first time and keeps them fresh until the context ends.
func fetch(ctx context.Context, url string, failed func(error)) (*remote, error) {
	set := &keySet{MemoryJWKSet: jwkset.NewMemoryStorage()}
	fetched, err := jwkset.NewStorageFromHTTP(url, jwkset.HTTPClientStorageOptions{
		Client:                    &http.Client{Transport: limited{http.DefaultTransport}},
		Ctx:                       ctx,
		HTTPTimeout:               fetchTimeout,
		NoErrorReturnFirstHTTPReq: true,
		RefreshErrorHandler: func(_ context.Context, err error) {
			if failed != nil {
				failed(err)
			}
		},
		RefreshInterval: refreshInterval,
		Storage:         set,
	})
	if err != nil {
		return nil, err
	}
	client, err := jwkset.NewHTTPClient(jwkset.HTTPClientOptions{
		HTTPURLs:          map[string]jwkset.Storage{url: fetched},
		RateLimitWaitMax:  fetchTimeout,
		RefreshUnknownKID: rate.NewLimiter(rate.Every(unknownKeyInterval), 1),
	})
	if err != nil {
		return nil, err
	}
	keys, err := keyfunc.New(keyfunc.Options{
		Ctx:          ctx,
		Storage:      client,
		UseWhitelist: []jwkset.USE{jwkset.UseSig, ""},
	})
	if err != nil {
		return nil, err
	}
	return &remote{set: set, keys: keys}, nil
}

func (r *remote) generation() uint64 {
	if r == nil {
		return 0
	}
	return r.set.generation.Load()
}

// candidates are the published keys of the token's algorithm and key id. A shared secret has no business in a
// published set and is never one of them.
func (r *remote) candidates(ctx context.Context, t *jwt.Token) ([]jwt.VerificationKey, error) {
	got, err := r.keys.KeyfuncCtx(ctx)(t)
	if r.generation() == 0 {
		return nil, errUnavailable
	}
	if err != nil {
		return nil, errNoKey
	}
	found := []jwt.VerificationKey{got}
	if set, ok := got.(jwt.VerificationKeySet); ok {
		found = set.Keys
	}
	var fit []jwt.VerificationKey
	for _, k := range found {
		if alg, err := algorithmOf(k); err == nil && alg == t.Method.Alg() && alg != "HS256" {
			fit = append(fit, k)
		}
	}
	return fit, nil
}

// keySet is the library's storage that also counts how often its content changed, starting at 0 with nothing.
type keySet struct {
	*jwkset.MemoryJWKSet
	generation atomic.Uint64
}

// KeyReplaceAll is what each fetch calls with all it found.
func (s *keySet) KeyReplaceAll(ctx context.Context, keys []jwkset.JWK) error {
	before, err := s.KeyReadAll(ctx)
	if err != nil {
		return err
	}
	if err := s.MemoryJWKSet.KeyReplaceAll(ctx, keys); err != nil {
		return err
	}
	if s.generation.Load() == 0 || !reflect.DeepEqual(published(before), published(keys)) {
		s.generation.Add(1)
	}
	return nil
}

func published(keys []jwkset.JWK) []jwkset.JWKMarshal {
	var list []jwkset.JWKMarshal
	for _, k := range keys {
		list = append(list, k.Marshal())
	}
	return list
}

// limited caps the size of answers: a key set is small, and its server need not be trusted with our memory.
type limited struct{ http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxSetBytes), resp.Body}
	}
	return resp, err
}
