package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dabba-mq/dabba/handlers/browser"
)

const (
	minJournalSize byteSize = 64 << 10
	maxJournalSize byteSize = 2 << 30
)

// serveOptions are the flags of serve.
type serveOptions struct {
	addr, adminAddr    string
	data, store, fsync string
	journalSize        byteSize
	authKeys, jwksURL  string
	accessKeys         string
	issuer, audience   string
	insecure, dev      bool
	devWallOffset      time.Duration
	publicURL          string
	allowOrigins       []string
	allowHosts         []string
	sqs                sqsOptions
	quarantine         bool
	logLevel           string
	config             string
	untilInputEnds     bool
}

func newServe(p program) *cobra.Command {
	o := serveOptions{journalSize: 128 << 20}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `Run the server. Every flag has an environment variable (` + envName("auth-keys") + ` for --auth-keys) and a key in the
config file (auth-keys: …). A flag counts more than its variable, the variable more than the file.

Keys that verify tokens may also be given in the variable ` + inlineKeys + ` itself.`,
		Example: `  dabba serve
  dabba serve --store redis://redis.example:6379/0
  dabba serve --store redis-sentinel://a.example:26379,b.example:26379,c.example:26379/mymaster
  dabba serve --addr :8080 --data /var/lib/dabba --auth-keys /etc/dabba/keys.pem`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.fromEnv(cmd.Flags()); err != nil {
				return err
			}
			if o.config != "" {
				if err := fromFile(cmd.Flags(), o.config); err != nil {
					return err
				}
			}
			level, err := o.check(p.lookupEnv(inlineKeys) != "")
			if err != nil {
				return err
			}
			log := slog.New(newRefusals(slog.NewTextHandler(p.errOut, &slog.HandlerOptions{Level: level})))
			p.logConfiguration(log, cmd)
			if p.lookupEnv("GOGC") == "" {
				keepHeapFloor()
			}
			return serve(cmd.Context(), p, o, log, openStore)
		},
	}
	o.register(cmd.Flags())
	return cmd
}

func (o *serveOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`address` of the API")
	f.StringVar(&o.adminAddr, "admin-addr", "", "`address` for /metrics, /healthz and /readyz, without tokens (default: they are on --addr)")
	f.StringVar(&o.data, "data", "./data", "`folder` of the segment store")
	f.StringVar(&o.store, "store", "segment", "where messages are kept: segment (on disk), memory (gone at the end) or the `address` of Redis, which several servers may share: redis://user:password@host:6379/0, redis-sentinel://host:26379,host:26379/name or redis-cluster://host:6379,host:6379 (rediss with TLS). With it --data, --fsync, --journal-size and --quarantine mean nothing")
	f.StringVar(&o.fsync, "fsync", "always", "`when` an acknowledged message is synced to disk: always (before it is acknowledged), interval (every second) or none (when the system likes)")
	f.Var(&o.journalSize, "journal-size", "`size` of the files that messages are written to; sends are refused when less than two of them and 64MiB are free")
	f.BoolVar(&o.quarantine, "quarantine", false, "start although stored data is damaged, and set the damaged part aside")
	f.StringVar(&o.authKeys, "auth-keys", "", "`file` with the keys that verify tokens: a secret of at least 32 bytes, PEM or a JWK set")
	f.StringVar(&o.jwksURL, "jwks-url", "", "`URL` of an identity provider's JWK set")
	f.StringVar(&o.issuer, "jwt-issuer", "", "`iss` that tokens must have")
	f.StringVar(&o.audience, "jwt-audience", "", "`aud` that tokens must have")
	f.StringVar(&o.accessKeys, "access-keys", "", "`file` with the access keys that sign requests of the SQS wire, JSON, mode 0600; SIGHUP reads it again")
	f.BoolVar(&o.insecure, "insecure", false, "listen beyond this machine without authentication")
	f.StringVar(&o.publicURL, "public-url", "", "`URL` under which clients reach the API, for the queue URLs of the SQS wire (default: as each request did)")
	f.StringSliceVar(&o.allowOrigins, "allow-origin", nil, "`origin` of web pages that may call the server, like https://app.example; several with commas, or the flag again; * for all")
	f.StringSliceVar(&o.allowHosts, "allow-host", nil, "`name` under which a server without keys is reached besides its address and --public-url; several with commas, or the flag again; * for all")
	o.sqs.register(f)
	f.BoolVar(&o.dev, "dev", false, "let POST /v1/dev/clock/advance and /v1/dev/clock/step move the clocks, for test suites that would have to sleep")
	f.DurationVar(&o.devWallOffset, "dev-wall-offset", 0, "with --dev: `duration` by which the wall clock is set before the start, like -720h")
	f.StringVar(&o.logLevel, "log-level", "info", "least `level` that is logged: debug, info, warn or error")
	f.StringVar(&o.config, "config", "", "`file` with these settings, YAML or JSON")
	f.BoolVar(&o.untilInputEnds, "until-input-ends", false, "stop when standard input ends")
	if err := f.MarkHidden("until-input-ends"); err != nil {
		panic(err)
	}
}

// check refuses settings that cannot work, before anything is opened.
func (o *serveOptions) check(inlineKeys bool) (slog.Level, error) {
	var level slog.Level
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, o.logLevel) {
		return level, usagef("--log-level is debug, info, warn or error, not %q", o.logLevel)
	}
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return level, usagef("--log-level: %w", err)
	}
	switch {
	case o.store == "segment", o.store == "memory":
	case o.onRedis():
		if _, err := redisOptions(o.store); err != nil {
			return level, err
		}
	default:
		return level, usagef("--store is segment, memory or the address of Redis (%s), not %q", redisForms, redact(o.store))
	}
	if _, ok := syncModes[o.fsync]; !ok {
		return level, usagef("--fsync is always, interval or none, not %q", o.fsync)
	}
	if o.journalSize < minJournalSize || o.journalSize > maxJournalSize || o.journalSize%minJournalSize != 0 {
		return level, usagef("--journal-size is a multiple of 64KiB up to 2GiB, not %s", &o.journalSize)
	}
	if o.devWallOffset != 0 && !o.dev {
		return level, usagef("--dev-wall-offset (or %s) sets the clock of a server for tests: give --dev with it, or leave it out", envName("dev-wall-offset"))
	}
	if o.jwksURL != "" {
		if u, err := url.Parse(o.jwksURL); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
			return level, usagef("--jwks-url is an address like https://id.example/jwks.json, not %q", redact(o.jwksURL))
		}
	}
	if err := o.checkPublicURL(); err != nil {
		return level, err
	}
	if err := o.checkBrowsers(); err != nil {
		return level, err
	}
	if err := o.sqs.check(); err != nil {
		return level, err
	}
	tokens := inlineKeys || o.authKeys != "" || o.jwksURL != ""
	if !tokens && (o.issuer != "" || o.audience != "") {
		return level, usagef("--jwt-issuer and --jwt-audience need keys to verify tokens with: give --auth-keys or --jwks-url")
	}
	if err := o.checkAddress("--addr", o.addr, tokens || o.accessKeys != ""); err != nil {
		return level, err
	}
	if o.adminAddr == "" {
		return level, nil
	}
	return level, o.checkAddress("--admin-addr", o.adminAddr, false)
}

// checkPublicURL leaves the URL without a slash at its end.
func (o *serveOptions) checkPublicURL() error {
	o.publicURL = strings.TrimRight(o.publicURL, "/")
	if o.publicURL == "" {
		return nil
	}
	u, err := url.Parse(o.publicURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return usagef("--public-url is an address like https://queues.example, not %q", redact(o.publicURL))
	}
	return nil
}

// checkBrowsers leaves origins and hosts as requests have them.
func (o *serveOptions) checkBrowsers() (err error) {
	for i, origin := range o.allowOrigins {
		if o.allowOrigins[i], err = browser.ParseOrigin(origin); err != nil {
			return usagef("--allow-origin: %w", err)
		}
	}
	for i, host := range o.allowHosts {
		if o.allowHosts[i], err = browser.ParseHost(host); err != nil {
			return usagef("--allow-host: %w", err)
		}
	}
	return nil
}

// checkAddress refuses to be open to other machines by accident.
func (o *serveOptions) checkAddress(flag, addr string, authenticated bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return usagef("%s is host:port, like 127.0.0.1:8080, not %q", flag, addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("%s %s: the port is a number from 0 to 65535, not %q", flag, addr, port)
	}
	if authenticated || o.insecure || isLoopback(host) {
		return nil
	}
	fix := "give --auth-keys, --jwks-url or --access-keys, or --insecure if everyone who reaches it may do everything"
	if flag == "--admin-addr" {
		fix = "the admin address asks for no token, so name a loopback one, or give --insecure if everyone may see it"
	}
	return usagef("%s %s can be reached from other machines without authentication: %s", flag, addr, fix)
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// logConfiguration says once what is in effect and from where it could have come, without secrets.
func (p program) logConfiguration(log *slog.Logger, cmd *cobra.Command) {
	var attrs []any
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			value := redact(f.Value.String())
			if list, ok := f.Value.(pflag.SliceValue); ok { // of names, none of which is secret
				value = strings.Join(list.GetSlice(), ",")
			}
			attrs = append(attrs, slog.String(f.Name, value))
		}
	})
	if p.lookupEnv(inlineKeys) != "" {
		attrs = append(attrs, slog.String(inlineKeys, "redacted"))
	}
	log.Info("configuration", attrs...)

	sets := []*pflag.FlagSet{}
	for _, c := range cmd.Root().Commands() {
		sets = append(sets, c.Flags(), c.PersistentFlags())
	}
	for _, name := range p.strayEnv(sets...) {
		log.Warn("no command reads this environment variable: is it misspelled?", slog.String("name", name))
	}
}

// redact hides the password of a URL; other settings name things and hold no secret.
func redact(value string) string {
	if !strings.Contains(value, "://") {
		return value
	}
	if isRedis(value) {
		return redactRedis(value)
	}
	u, err := url.Parse(value)
	if err != nil {
		return "redacted"
	}
	if u.RawQuery != "" {
		u.RawQuery = "redacted"
	}
	return u.Redacted()
}

// command is what to type to run this program again.
func (p program) command() string {
	switch {
	case p.name == "":
		return "dabba"
	case strings.Contains(p.name, "/go-build"): // go run removes its binary in the end
		return "go run ./cmd/dabba"
	}
	return p.name
}

// banner says to the person who started the server where everything is and what to try.
func banner(o serveOptions, base, admin, try, promise string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Dabba %s is ready.\n\n", version())
	fmt.Fprintf(&b, "  API    %s/v1\n", base)
	fmt.Fprintf(&b, "  SQS    %s (region %s)\n", cmp.Or(o.publicURL, base), o.sqs.region)
	fmt.Fprintf(&b, "  Docs   %s/docs\n", base)
	if admin != "" {
		fmt.Fprintf(&b, "  Admin  %s/metrics\n", admin)
	}
	where := o.data
	switch {
	case o.store == "memory":
		where = "memory"
	case o.onRedis():
		where = redact(o.store)
	}
	fmt.Fprintf(&b, "  Data   %s: %s\n\n%s\n", where, promise, try)
	return b.String()
}

// tryNative shows how to make a first queue; command is how to run this program.
func tryNative(o serveOptions, command, base string, tokens bool) string {
	var b strings.Builder
	b.WriteString("Try it:\n")
	header := ""
	if tokens {
		key := o.authKeys
		if key == "" {
			key = "KEYFILE"
		}
		fmt.Fprintf(&b, "  TOKEN=$(%s token --key %s --sub me --scope 'admin:*:*')\n", command, key)
		header = ` -H "Authorization: Bearer $TOKEN"`
	}
	fmt.Fprintf(&b, "  curl%s -X PUT %s/v1/queues/hello\n", header, base)
	fmt.Fprintf(&b, "  curl%s -d Hello %s/v1/queues/hello/messages\n", header, base)
	fmt.Fprintf(&b, "  curl%s -X POST '%s/v1/queues/hello/receive?wait=20s'\n", header, base)
	return b.String()
}
