package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress is a bar on a terminal, and nothing anywhere else.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress counts bytes up to the size of the files; without files it only shows that something happens.
func newProgress(p program, files []string) (*progress, error) {
	total := int64(0)
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		total += info.Size()
	}
	if len(files) == 0 {
		total = -1
	}
	if !isTerminal(p.errOut) {
		return &progress{}, nil
	}
	return &progress{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(p.errOut),
		progressbar.OptionSetDescription("sending"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSpinnerType(14),
	)}, nil
}

// add counts bytes. That the bar cannot be drawn is no reason to stop sending.
func (p *progress) add(bytes int) {
	if p.bar != nil {
		_ = p.bar.Add(bytes)
	}
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
		_ = p.bar.Clear()
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
