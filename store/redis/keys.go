package redis

import "fmt"

// tags is the number of hash tags over which generations are spread. All keys of one share a tag, and so a slot.
const tags = 256

// keys are those of a generation of a kind ('q' or 'l'), by their last letters.
func (s *Store) keys(kind byte, id uint64, names ...string) []string {
	base := fmt.Sprintf("%s{%02x}%c%d:", s.o.Prefix, id%tags, kind, id)
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = base + name
	}
	return list
}

// news is the channel on which scripts announce what happened to generations with this tag.
func (s *Store) news(id uint64) string { return fmt.Sprintf("%s{%02x}news", s.o.Prefix, id%tags) }
