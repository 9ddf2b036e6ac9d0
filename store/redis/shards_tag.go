package redis

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/dabba-mq/dabba/store"
)

// slots is the number of slots of a cluster. Each of its leaders has about as many of them, mostly one after the other.
const slots = 16384

// slotOf is the slot of a hash tag: its CRC-16 (XMODEM), as the cluster specification of Redis says.
func slotOf(tag string) int {
	crc := uint16(0)
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}

// tagCircle has all tags in the order of their slots, and where each of them is.
var tagCircle = sync.OnceValue(func() *struct{ tags, place [tags]int } {
	c := &struct{ tags, place [tags]int }{}
	for i := range c.tags {
		c.tags[i] = i
	}
	slices.SortFunc(c.tags[:], func(a, b int) int {
		return cmp.Compare(slotOf(fmt.Sprintf("%02x", a)), slotOf(fmt.Sprintf("%02x", b)))
	})
	for i, tag := range c.tags {
		c.place[tag] = i
	}
	return c
})

// shardTag is the tag of one of so many shards of a generation. They are at equal distances on the circle of all slots, which
// begins at the generation's tag, so however many leaders share the slots, each has about as many of the shards as another.
func shardTag(id store.QueueID, shard, of uint32) int {
	c := tagCircle()
	begin := c.place[uint64(id)%tags]
	return c.tags[(begin+int(shard)*tags/int(of))%tags]
}
