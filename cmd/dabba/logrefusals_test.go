package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRefusalsAreLoggedOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(newRefusals(slog.NewTextHandler(&out, nil)))
		full := errors.New("storage_full: There is no room for more")
		for range 1000 {
			log.Warn("request failed", slog.Any("error", full))
			log.Warn("request", slog.Int("status", 507))
			log.Warn("request", slog.Int("status", 500))
		}
		log.Warn("request failed", slog.Any("error", errors.New("unavailable: out of memory")))
		<-time.After(3 * refusalEvery)
		synctest.Wait()
		text := out.String()
		for line, want := range map[string]int{
			"storage_full": 2, "status=507": 2, "status=500": 1000, "times=999": 2, "unavailable": 1,
		} {
			if got := strings.Count(text, line); got != want {
				t.Errorf("%q is in %d lines of the log, want %d", line, got, want)
			}
		}
		log.Warn("request", slog.Int("status", 507))
		if got := strings.Count(out.String(), "status=507"); got != 3 {
			t.Errorf("a refusal after a quiet while: %d lines, want 3", got)
		}
		<-time.After(2 * refusalEvery)
	})
}
