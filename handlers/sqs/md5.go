package sqs

import (
	"cmp"
	"crypto/md5" //nolint:gosec // the sums that AWS's clients compare with their own; they protect nothing
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
	"sync"

	"github.com/dabba-mq/dabba/engine"
)

// digest is the state of one MD5 sum, and room for what goes into it.
type digest struct {
	hash  hash.Hash
	chunk [1024]byte
	sum   [md5.Size]byte
	hex   [2 * md5.Size]byte
	order []int
}

var digests = sync.Pool{New: func() any {
	return &digest{hash: md5.New()} //nolint:gosec // see the import
}}

func newDigest() *digest {
	d, _ := digests.Get().(*digest)
	d.hash.Reset()
	return d
}

// done is the sum in hex; the digest is not to be used any more.
func (d *digest) done() string {
	d.hash.Sum(d.sum[:0])
	hex.Encode(d.hex[:], d.sum[:])
	s := string(d.hex[:])
	digests.Put(d)
	return s
}

// text adds s without having it in memory twice.
func (d *digest) text(s string) {
	for len(s) > 0 {
		n := copy(d.chunk[:], s)
		_, _ = d.hash.Write(d.chunk[:n]) // a hash never fails
		s = s[n:]
	}
}

// size adds a length: four bytes, the highest first.
func (d *digest) size(n int) {
	_, _ = d.hash.Write(binary.BigEndian.AppendUint32(d.chunk[:0], uint32(n)))
}

func (d *digest) sizedText(s string) {
	d.size(len(s))
	d.text(s)
}

// md5OfBody is the MD5 of a message's body, in hex.
func md5OfBody(body string) string {
	d := newDigest()
	d.text(body)
	return d.done()
}

// md5OfAttributes is the MD5 of a message's attributes in hex, in whatever order they are given; empty if there are none.
// An attribute of the engine without a type is a String.
//
// The sum is over each attribute in the order of their names: name, data type and value, each after its length, and
// before the value a byte that says whether it is text (1) or binary (2). Source: the SQS developer guide, "Calculating
// the MD5 message digest for message attributes".
func md5OfAttributes(attributes []engine.Attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	d := newDigest()
	d.order = d.order[:0]
	for i := range attributes {
		d.order = append(d.order, i)
	}
	slices.SortFunc(d.order, func(i, j int) int { return cmp.Compare(attributes[i].Name, attributes[j].Name) })
	for _, i := range d.order {
		a := &attributes[i]
		d.sizedText(a.Name)
		d.sizedText(cmp.Or(a.Type, "String"))
		d.chunk[0] = 1
		if strings.HasPrefix(a.Type, "Binary") {
			d.chunk[0] = 2
		}
		_, _ = d.hash.Write(d.chunk[:1])
		d.size(len(a.Value))
		_, _ = d.hash.Write(a.Value)
	}
	return d.done()
}
