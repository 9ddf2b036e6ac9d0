package model

// texts keeps each distinct consumer name and reason once, counted, so that a slot holds only a number. Number 0 is
// the empty text.
type texts struct {
	ids  map[string]uint32
	list []text
	free []uint32
}

type text struct {
	s    string
	refs uint32
}

func (t *texts) hold(s string) uint32 {
	if s == "" {
		return 0
	}
	if id, ok := t.ids[s]; ok {
		t.list[id-1].refs++
		return id
	}
	var id uint32
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
		t.list[id-1] = text{s, 1}
	} else {
		t.list = append(t.list, text{s, 1})
		id = uint32(len(t.list))
	}
	if t.ids == nil {
		t.ids = make(map[string]uint32)
	}
	t.ids[s] = id
	return id
}

// replace holds s in the place of another text.
func (t *texts) replace(held *uint32, s string) {
	old := *held
	*held = t.hold(s) // before the release: they may be the same
	t.release(old)
}

// id is the number of a text that is held.
func (t *texts) id(s string) (uint32, bool) {
	if s == "" {
		return 0, true
	}
	id, ok := t.ids[s]
	return id, ok
}

func (t *texts) release(id uint32) {
	if id == 0 {
		return
	}
	e := &t.list[id-1]
	if e.refs--; e.refs > 0 {
		return
	}
	delete(t.ids, e.s)
	e.s = ""
	t.free = append(t.free, id)
	if len(t.ids) == 0 {
		*t = texts{} // an idle queue keeps no memory of a busy past
	}
}

func (t *texts) get(id uint32) string {
	if id == 0 {
		return ""
	}
	return t.list[id-1].s
}
