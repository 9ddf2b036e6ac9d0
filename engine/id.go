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

// ParseMessageID reads what String gives; false for anything else, whatever it is. The letters may be capitals.
func ParseMessageID(s string) (MessageID, bool) {
	var id MessageID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return MessageID{}, false
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return MessageID{}, false
	}
	return id, true
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

// place is the reverse of put. What was never an id gives a queue that does not exist, but for a chance of one in 2^64.
func (c idCipher) place(id MessageID) (store.QueueID, store.Seq) {
	c.block.Decrypt(id[:], id[:])
	return store.QueueID(binary.BigEndian.Uint64(id[:8])), store.Seq(binary.BigEndian.Uint64(id[8:]))
}

// of is the id of a message that is in q.
func (c idCipher) of(q store.QueueID, d *store.Delivery) (id MessageID) {
	seq := d.Seq
	if o := d.Origin; o != nil {
		q, seq = o.Queue, o.Seq
	}
	c.put(&id, q, seq)
	return id
}
