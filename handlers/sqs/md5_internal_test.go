package sqs

import (
	"crypto/md5" //nolint:gosec // what is tested
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/dabba-mq/dabba/engine"
)

func TestMD5OfBodies(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 1023, 1024, 1025, 10_000} {
		body := strings.Repeat("é", size)
		sum := md5.Sum([]byte(body)) //nolint:gosec // see the import
		if got, want := md5OfBody(body), hex.EncodeToString(sum[:]); got != want {
			t.Errorf("the MD5 of %d bytes = %s, want %s", len(body), got, want)
		}
	}
	if got := md5OfBody("message"); got != "78e731027d8fd50ed642340b7c9a63b3" {
		t.Errorf("the MD5 of message = %s", got)
	}
}

func TestMD5OfAttributes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		attribute engine.Attribute
		want      string
	}{
		{engine.Attribute{Name: "Foo", Value: []byte("Bar")}, "ae7155c6026991b6d54b11589678bf9c"},
		{engine.Attribute{Name: "Foo", Type: "String", Value: []byte("Bar")}, "ae7155c6026991b6d54b11589678bf9c"},
		{engine.Attribute{Name: "timestamp", Type: "Number", Value: []byte("1493147359900")}, "235c5c510d26fb653d073faed50ae77c"},
	} {
		if got := md5OfAttributes([]engine.Attribute{tc.attribute}); got != tc.want {
			t.Errorf("md5OfAttributes(%+v) = %s, want %s", tc.attribute, got, tc.want)
		}
	}
	if got := md5OfAttributes(nil); got != "" {
		t.Errorf("the MD5 of no attributes = %s, want none", got)
	}
	attributes := []engine.Attribute{
		{Name: "b", Type: "Binary.gif", Value: []byte{0, 255}},
		{Name: "a", Type: "Number.int", Value: []byte("1")},
		{Name: "c", Value: []byte(strings.Repeat("v", 5000))},
	}
	var plain []byte
	sized := func(p string) { plain = append(binary.BigEndian.AppendUint32(plain, uint32(len(p))), p...) }
	for _, a := range []struct {
		name, dataType, value string
		kind                  byte
	}{{"a", "Number.int", "1", 1}, {"b", "Binary.gif", "\x00\xff", 2}, {"c", "String", strings.Repeat("v", 5000), 1}} {
		sized(a.name)
		sized(a.dataType)
		plain = append(plain, a.kind)
		sized(a.value)
	}
	sum := md5.Sum(plain) //nolint:gosec // see the import
	given := slices.Clone(attributes)
	if got, want := md5OfAttributes(given), hex.EncodeToString(sum[:]); got != want {
		t.Errorf("md5OfAttributes = %s, want %s", got, want)
	}
	if given[0].Name != "b" {
		t.Errorf("the attributes were put in another order: %v", given)
	}
}
