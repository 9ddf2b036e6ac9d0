package sqs

import (
	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/sqs/sigv4"
)

// identify finds out who says to make the request, by its signature or its bearer token, and for which region. It looks at
// the headers alone: whoever has no key, or a signature of another time or service, is refused before the body is read. What
// is left to check for a signature, which covers the body, is done by [call.authenticate]. Without any keys configured
// everyone may do everything and a signature only names the region, also one that is broken.
func (c *call) identify() error {
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
		return c.identifyBearer()
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
	if err := signature.Check(c.r, c.Now()); err != nil {
		return err
	}
	c.signed, c.signature, c.secret, c.principal = true, signature, secret, *p
	return nil
}

// identifyBearer is for clients of the native API that speak SQS for once.
func (c *call) identifyBearer() error {
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

// authenticate verifies the signature of a request that was signed, now that its body is there.
func (c *call) authenticate(body []byte) error {
	if !c.signed {
		return nil
	}
	return c.signature.Verify(c.r, c.secret, body, c.Now())
}
