package engine

import (
	"context"
	"crypto/aes"
	"errors"
	"fmt"

	"github.com/dabba-mq/dabba/store"
)

// The secret behind ids and receipts is made once per store and kept with the data, so that both stay valid over a
// restart: one version byte, an AES-128 key for ids, another for receipts.
const (
	secretKey     = "engine/secret"
	secretVersion = 1
	secretSize    = 1 + 16 + 16
)

// ciphers are what a secret is for.
type ciphers struct {
	secret []byte
	ids    idCipher
	stamps receiptCipher
}

// loadSecret takes the secret of the store. If that has lost it, it gets back the one that this engine has, unless another one
// was faster: then all go on with that.
func (e *Engine) loadSecret(ctx context.Context) error {
	secret, err := e.secret(ctx)
	if err != nil {
		return err
	}
	if len(secret) != secretSize || secret[0] != secretVersion {
		return fmt.Errorf("%w: %s is %d bytes that begin with %v, this program knows %d bytes of version %d",
			store.ErrVersion, secretKey, len(secret), secret[:min(1, len(secret))], secretSize, secretVersion)
	}
	ids, err := aes.NewCipher(secret[1:17])
	if err != nil {
		return fmt.Errorf("key for ids: %w", err)
	}
	stamps, err := aes.NewCipher(secret[17:])
	if err != nil {
		return fmt.Errorf("key for receipts: %w", err)
	}
	e.ciphers.Store(&ciphers{secret, idCipher{ids}, receiptCipher{stamps}})
	return nil
}

// ids are those of the present secret.
func (e *Engine) ids() idCipher { return e.ciphers.Load().ids }

// stamps are those of the present secret.
func (e *Engine) stamps() receiptCipher { return e.ciphers.Load().stamps }

// secret reads the secret, or writes the one that is known, or makes one; of two engines that do so at once the first wins.
func (e *Engine) secret(ctx context.Context) ([]byte, error) {
	pair, err := e.store.Get(ctx, secretKey)
	if !errors.Is(err, store.ErrNotFound) {
		return pair.Value, err
	}
	fresh := make([]byte, secretSize)
	fresh[0] = secretVersion
	if have := e.ciphers.Load(); have != nil {
		copy(fresh, have.secret)
	} else if err := e.random.secret(fresh[1:]); err != nil {
		return nil, err
	}
	_, err = e.store.Put(ctx, secretKey, fresh, 0)
	if errors.Is(err, store.ErrConflict) {
		pair, err = e.store.Get(ctx, secretKey)
		return pair.Value, err
	}
	return fresh, err
}
