package segment

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store"
	"github.com/dabba-mq/dabba/store/internal/disk"
	"github.com/dabba-mq/dabba/store/internal/journal"
	"github.com/dabba-mq/dabba/store/storetest"
)

// small opens stores of the smallest files there are.
var small = storetest.Disk{
	Reserve: freeMargin + 4*journal.MinFileSize,
	Check: func(fs disk.FS) (storetest.Checked, error) {
		files, err := journal.List(fs, storetest.Folder)
		if errors.Is(err, iofs.ErrNotExist) || err == nil && len(files) == 0 {
			return storetest.Checked{}, nil // the first start made no data file yet
		}
		r, err := Check(CheckOptions{Dir: storetest.Folder, fs: fs})
		torn := slices.ContainsFunc(r.Files, func(f FileReport) bool { return f.Torn > 0 })
		return storetest.Checked{Problems: r.Problems, Torn: torn}, err
	},
	Open: func(fs disk.FS, c *storetest.Clock, rand io.Reader, seen *storetest.Exercised) (store.Store, error) {
		s, err := Open(context.Background(), Options{
			Dir: storetest.Folder, Now: c.Elapsed, Wall: c.Now, Boot: c.Boot, Rand: rand, FileSize: 2 * journal.MinFileSize, fs: fs,
			Events: Events{
				Warning: func(text string) {
					if strings.Contains(text, "cut off") {
						seen.TornTails.Add(1)
					}
					seen.Reports.Add(1)
				},
				Damaged:    func(error) { seen.Reports.Add(1) },
				Checkpoint: func(time.Duration, int) { seen.Checkpoints.Add(1) },
				Merged:     func(int, int64) { seen.Merges.Add(1) },
				Recycled:   func(uint32) { seen.Recycled.Add(1) },
				Rolled:     func(uint32, uint32) { seen.Rollovers.Add(1) },
			},
		})
		if err != nil {
			return nil, err // not a nil *Store in an interface
		}
		return s, nil
	},
}

func TestCrash(t *testing.T) { storetest.Crash(t, small) }

func TestFaults(t *testing.T) { storetest.Faults(t, small) }

func TestLies(t *testing.T) { storetest.Lies(t, small) }

func TestFull(t *testing.T) { storetest.Full(t, small) }

func TestDamage(t *testing.T) { storetest.Damage(t, small) }
