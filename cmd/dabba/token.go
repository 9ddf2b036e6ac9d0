package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dabba-mq/dabba/handlers/auth"
)

func newToken(p program) *cobra.Command {
	var keyFile string
	var g auth.Grant
	ttl := spanOf(time.Hour)
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Issue a token with the server's own key and print it",
		Long: `Issue a bearer token, signed with a private key or a shared secret that the server was started with
(dabba serve --auth-keys), and print it alone.

A scope is <resource>:<action>:<name pattern>; several are separated by spaces:
  queues:send:orders-*   queues: send, receive, read, manage
  topics:read:*          topics: produce, consume, read, manage
  admin:*:*              everything`,
		Example: `  (umask 077; head -c 48 /dev/urandom | base64 > dabba.key)
  dabba token --key dabba.key --sub worker-7 --scope "queues:receive:orders queues:send:mails" --ttl 12h`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.fromEnv(cmd.Flags()); err != nil {
				return err
			}
			if strings.TrimSpace(g.Scope) == "" {
				return usagef("a token without a scope may do nothing: give --scope, like \"queues:send:orders\", or admin:*:* for everything")
			}
			g.TTL = ttl.value
			key, err := p.signingKey(keyFile)
			if err != nil {
				return err
			}
			token, err := auth.Issue(key, g, time.Now())
			if err != nil {
				return usagef("issue a token: %w", err)
			}
			if g.Subject == "" {
				fmt.Fprintln(p.errOut, "dabba: note: without --sub nobody can tell whose token this is")
			}
			_, err = fmt.Fprintln(p.out, token)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&keyFile, "key", "", "`file` with the key: a secret of at least 32 bytes, PEM or a JWK set (default: "+envName("auth-keys")+" or "+inlineKeys+")")
	f.StringVar(&g.Subject, "sub", "", "`subject`: who the token is for")
	f.StringVar(&g.Scope, "scope", "", "`scopes`: what the token allows, separated by spaces")
	f.StringVar(&g.Tenant, "tenant", "", "`namespace` of the token (default \"default\")")
	f.Var(&ttl, "ttl", "how long the token is valid, like 12h or 30d")
	f.StringVar(&g.Issuer, "jwt-issuer", "", "its `iss`, if the server asks for one")
	f.StringVar(&g.Audience, "jwt-audience", "", "its `aud`, if the server asks for one")
	return cmd
}

// signingKey is the first key that can sign, from the file or else from where the server would take it.
func (p program) signingKey(path string) (auth.Key, error) {
	if path == "" {
		path = p.lookupEnv(envName("auth-keys"))
	}
	keys, err := p.loadKeys(path)
	if err != nil {
		return auth.Key{}, err
	}
	if len(keys) == 0 {
		return auth.Key{}, usagef("no key to sign with: give --key FILE")
	}
	for _, k := range keys {
		if k.Signs() {
			return k, nil
		}
	}
	return auth.Key{}, usagef("%s has public keys only: signing needs the private key or the shared secret", path)
}

// loadKeys reads the keys of a file and of the environment; either may be absent.
func (p program) loadKeys(path string) ([]auth.Key, error) {
	var keys []auth.Key
	if path != "" {
		var err error
		if keys, err = auth.LoadKeys(path); err != nil {
			return nil, usagef("%w", err)
		}
	}
	if inline := p.lookupEnv(inlineKeys); inline != "" {
		more, err := auth.ParseKeys([]byte(inline))
		if err != nil {
			return nil, usagef("keys in %s: %w", inlineKeys, err)
		}
		keys = append(keys, more...)
	}
	return keys, nil
}
