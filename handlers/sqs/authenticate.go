package sqs

import (
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/sqs/sigv4"
)

// authenticate finds out who makes the request, by its signature or its bearer token, and for which region. Without any
// keys configured everyone may do everything and a signature only names the region, also one that is broken.
func (c *call) authenticate(body []byte) error {
	signature, err := sigv4.Parse(c.r)
	c.region = c.Region
	if signature.Region != "" {
		c.region = signature.Region
	}
	if !IsRegion(c.region) {
		return invalidAddress.is("The credential scope names no region that can be: it has lower-case letters, digits and hyphens, at most 32.")
	}
	switch {
	case c.Verifier == nil && c.AccessKeys == nil:
		c.principal = auth.Anonymous()
		return nil
	case err == sigv4.ErrAbsent: //nolint:errorlint // it is this very value, see Parse
		return c.authenticateBearer()
	case err != nil:
		return err
	}
	if c.AccessKeys == nil {
		return sigv4.ErrUnknownKey
	}
	secret, p, ok := c.AccessKeys.Find(signature.AccessKeyID)
	if !ok {
		return sigv4.ErrUnknownKey
	}
	if err := signature.Verify(c.r, secret, body, c.Now()); err != nil {
		return err
	}
	c.principal = *p
	return nil
}

// authenticateBearer is for clients of the native API that speak SQS for once.
func (c *call) authenticateBearer() error {
	if c.Verifier == nil || c.r.Header.Get("Authorization") == "" {
		return sigv4.ErrAbsent
	}
	p, err := c.Verifier.Request(c.r)
	if err != nil {
		return err
	}
	c.principal = *p
	return nil
}
