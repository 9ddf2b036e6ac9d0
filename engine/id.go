package engine

import (
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"

	"github.com/dabba-mq/dabba/store"
)

// MessageID identifies a message for its whole life, in whatever queue it is.
type MessageID [16]byte

// String is the id in the 36-character form of a UUID.
func (id MessageID) String() string {
	b, _ := id.AppendText(make([]byte, 0, 36))
	return string(b)
}

// AppendText appends what String gives. The error is always nil.
func (id MessageID) AppendText(b []byte) ([]byte, error) {
	b = hex.AppendEncode(b, id[:4])
	b = append(b, '-')
	b = hex.AppendEncode(b, id[4:6])
	b = append(b, '-')
	b = hex.AppendEncode(b, id[6:8])
	b = append(b, '-')
	b = hex.AppendEncode(b, id[8:10])
	b = append(b, '-')
	return hex.AppendEncode(b, id[10:]), nil
}

// idCipher turns (generation, sequence) into an id and back: one AES-128 block. So ids need no index, are unique as
// long as the pair is, and tell a client nothing about how many messages there are.
type idCipher struct {
	block cipher.Block
}

// put writes the id of a message first sent as seq to queue q. It works in place, so that nothing is allocated.
func (c idCipher) put(id *MessageID, q store.QueueID, seq store.Seq) {
	binary.BigEndian.PutUint64(id[:8], uint64(q))
	binary.BigEndian.PutUint64(id[8:], uint64(seq))
	c.block.Encrypt(id[:], id[:])
}
