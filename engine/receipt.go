package engine

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"

	"github.com/dabba-mq/dabba/store"
)

// A receipt carries all that is needed to settle a delivery, so the engine remembers none. Big-endian, 36 bytes:
//
//	 0        1              8                16               24           28            36
//	+--------+--------------+----------------+----------------+------------+-------------+
//	| version| token, 56 bit| generation     | sequence       | entered    | MAC, 64 bit |
//	+--------+--------------+----------------+----------------+------------+-------------+
//
// It is written as 48 characters of base64url, which leaves no spare bits. The MAC is CBC-MAC with AES-128 over the
// first 28 bytes and four zeros: exactly two blocks, and for messages of one fixed length CBC-MAC is a secure MAC
// (Bellare, Kilian, Rogaway, 2000). All deliveries of one receive share the first block.
const (
	receiptVersion = 1
	receiptMACed   = 28
	receiptSize    = 36
	receiptText    = 48
)

var receiptEncoding = base64.RawURLEncoding.Strict()

// receipt is a decoded one.
type receipt struct {
	queue   store.QueueID
	seq     store.Seq
	token   store.Token
	entered uint32
}

type receiptCipher struct {
	block cipher.Block
}

// stamper makes the receipts of one receive.
type stamper struct {
	receiptCipher
	plain [2 * 16]byte
	first [16]byte // MAC state after the first block
	state [16]byte
}

func (c receiptCipher) stamper(q store.QueueID, t store.Token) *stamper {
	s := &stamper{receiptCipher: c}
	binary.BigEndian.PutUint64(s.plain[0:], uint64(t))
	s.plain[0] = receiptVersion
	binary.BigEndian.PutUint64(s.plain[8:], uint64(q))
	c.block.Encrypt(s.first[:], s.plain[:16])
	return s
}

// append adds the text of one receipt to b.
func (s *stamper) append(b []byte, seq store.Seq, entered uint32) []byte {
	binary.BigEndian.PutUint64(s.plain[16:], uint64(seq))
	binary.BigEndian.PutUint32(s.plain[24:], entered)
	clear(s.plain[receiptMACed:])
	subtle.XORBytes(s.state[:], s.first[:], s.plain[16:])
	s.block.Encrypt(s.state[:], s.state[:])

	var whole [receiptSize]byte
	copy(whole[:], s.plain[:receiptMACed])
	copy(whole[receiptMACed:], s.state[:])
	return receiptEncoding.AppendEncode(b, whole[:])
}

// checker checks receipts. It is scratch for one goroutine, on the heap once a batch instead of once a receipt.
type checker struct {
	receiptCipher
	plain, state [16]byte
}

func (c receiptCipher) checker() *checker { return &checker{receiptCipher: c} }

// open decodes a receipt of queue q; ok is false for anything else, whatever it is.
func (c *checker) open(q store.QueueID, text string) (r receipt, ok bool) {
	if len(text) != receiptText {
		return receipt{}, false
	}
	var chars [receiptText]byte
	copy(chars[:], text)
	var raw [receiptSize]byte
	if n, err := receiptEncoding.Decode(raw[:], chars[:]); err != nil || n != receiptSize {
		return receipt{}, false
	}
	if raw[0] != receiptVersion || !c.genuine(&raw) {
		return receipt{}, false
	}
	raw[0] = 0
	r = receipt{
		queue:   store.QueueID(binary.BigEndian.Uint64(raw[8:])),
		seq:     store.Seq(binary.BigEndian.Uint64(raw[16:])),
		token:   store.Token(binary.BigEndian.Uint64(raw[0:])),
		entered: binary.BigEndian.Uint32(raw[24:]),
	}
	return r, r.queue == q
}

func (c *checker) genuine(raw *[receiptSize]byte) bool {
	copy(c.plain[:], raw[:16])
	c.block.Encrypt(c.state[:], c.plain[:])
	clear(c.plain[:])
	copy(c.plain[:], raw[16:receiptMACed])
	subtle.XORBytes(c.state[:], c.state[:], c.plain[:])
	c.block.Encrypt(c.state[:], c.state[:])
	return subtle.ConstantTimeCompare(c.state[:receiptSize-receiptMACed], raw[receiptMACed:]) == 1
}
