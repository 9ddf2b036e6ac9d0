package engine

import "sync"

// chores are what a goroutine is to visit, each once, in order. T is a pointer.
type chores[T comparable] struct {
	// poke tells the goroutine that there is work.
	poke chan struct{}

	mu     sync.Mutex
	todo   []T
	listed map[T]struct{} // what is in todo
}

func (c *chores[T]) init() {
	c.poke = make(chan struct{}, 1)
	c.listed = make(map[T]struct{})
}

// add asks for a visit to one.
func (c *chores[T]) add(one T) {
	c.mu.Lock()
	if _, ok := c.listed[one]; !ok {
		c.listed[one] = struct{}{}
		c.todo = append(c.todo, one)
	}
	c.mu.Unlock()
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// next is what to visit, the zero T when there is nothing.
func (c *chores[T]) next() (one T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.todo) == 0 {
		c.todo = nil
		return one
	}
	one = c.todo[0]
	clear(c.todo[:1])
	c.todo = c.todo[1:]
	delete(c.listed, one)
	return one
}
