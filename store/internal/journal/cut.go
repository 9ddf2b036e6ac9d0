package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/dabba-mq/dabba/store/internal/disk"
)

const (
	quarantinePrefix = "quarantine-"
	// keepTorn is how many copies of torn ends are kept.
	keepTorn = 16
)

// cut overwrites a range of a file with zeros, durably, after making a copy of it. A full disk is no reason to give up:
// nobody was told that what is in a torn end was accepted.
func (j *Journal) cut(f *dataFile, from, to int64, acknowledged bool, why error) error {
	c := Cut{File: f.number(), Offset: from, Bytes: to - from, Acknowledged: acknowledged, Why: why}
	prefix := tornPrefix
	if acknowledged {
		prefix = quarantinePrefix
	}
	c.Copy, c.Err = j.copyAside(f, from, to, prefix)
	if c.Err != nil && (acknowledged || !disk.NoSpace(c.Err)) {
		return fmt.Errorf("keep a copy of %s from %d to %d: %w", fileName(f.number()), from, to, c.Err)
	}
	if err := zeroFill(f, from, to); err != nil {
		return fmt.Errorf("cut off %s at %d: %w", fileName(f.number()), from, err)
	}
	if j.o.Events.Cut != nil {
		j.o.Events.Cut(c)
	}
	return nil
}

// copyAside copies a range of a file to a new file and returns its name, with a number added if the name is taken: an
// earlier copy may be of more, when a recovery was cut short.
func (j *Journal) copyAside(f *dataFile, from, to int64, prefix string) (name string, err error) {
	taken, err := j.makeWay(prefix)
	if err != nil {
		return "", err
	}
	base := fmt.Sprintf("%s%08d-%010d", prefix, f.number(), from)
	name = base
	for i := 2; slices.Contains(taken, name); i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	tmp := path.Join(j.o.Dir, name+tmpSuffix)
	if err := j.copyTo(tmp, f, from, to); err != nil {
		return "", errors.Join(err, j.removeAny(tmp))
	}
	if err := j.o.FS.Rename(tmp, path.Join(j.o.Dir, name)); err != nil {
		return "", err
	}
	return name, j.o.FS.SyncDir(j.o.Dir)
}

// makeWay returns the names of earlier copies, after removing the oldest torn ones beyond what is kept.
func (j *Journal) makeWay(prefix string) ([]string, error) {
	names, err := j.o.FS.List(j.o.Dir)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, prefix) })
	for prefix == tornPrefix && len(names) >= keepTorn {
		if err := j.o.FS.Remove(path.Join(j.o.Dir, names[0])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		names = names[1:]
	}
	return names, nil
}

func (j *Journal) copyTo(name string, f *dataFile, from, to int64) (err error) {
	out, err := j.o.FS.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	buf := make([]byte, min(to-from, zeroChunk))
	for at := from; at < to; {
		n := min(to-at, int64(len(buf)))
		if _, err := f.ReadAt(buf[:n], at); err != nil {
			return err
		}
		if _, err := out.WriteAt(buf[:n], at-from); err != nil {
			return err
		}
		at += n
	}
	return out.Sync()
}

// setAside renames a whole data file so that it is no part of the journal any more.
func (j *Journal) setAside(number uint32, why error) error {
	name := quarantinePrefix + fileName(number)
	if err := j.o.FS.Rename(j.path(number), path.Join(j.o.Dir, name)); err != nil {
		return err
	}
	if err := j.o.FS.SyncDir(j.o.Dir); err != nil {
		return err
	}
	if j.o.Events.Cut != nil {
		j.o.Events.Cut(Cut{File: number, Acknowledged: true, Copy: name, Why: why})
	}
	return nil
}
