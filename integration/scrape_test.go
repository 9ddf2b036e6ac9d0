package integration

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dabba-mq/dabba/store/redis/redistest"
)

// scraped is what a scrape says of queues.
type scraped struct {
	counted            int
	uncounted, catalog float64
}

// scrape asks for the metrics, within the time that Prometheus gives it.
func (c *client) scrape() scraped {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	page, err := c.try(ctx, http.MethodGet, "/metrics", "")
	if err != nil {
		c.t.Fatalf("scrape: %v", err)
	}
	var s scraped
	for line := range strings.Lines(string(page.want(http.StatusOK).body)) {
		_, _ = fmt.Sscanf(line, `dabba_scrape_uncounted{kind="queue"} %g`, &s.uncounted)
		_, _ = fmt.Sscanf(line, `dabba_scrape_uncounted{kind="catalog"} %g`, &s.catalog)
		if strings.HasPrefix(line, "dabba_queue_bytes{") {
			s.counted++
		}
	}
	return s
}

// TestScrapeOfAClusterInPart scrapes a node while masters of its cluster, which nothing replaces, do not answer or are gone.
func TestScrapeOfAClusterInPart(t *testing.T) {
	t.Parallel()
	fleet := redistest.StartCluster(t, 3, 0, "--cluster-require-full-coverage", "no")
	c := start(t, filepath.Join(t.TempDir(), "unused"), "--store", fleet.URL, "--log-level", "error").client()
	const queues = 30
	for i := range queues {
		c.create(fmt.Sprintf("q%d", i), "")
	}
	if s := c.scrape(); s != (scraped{queues, 0, 0}) {
		t.Errorf("while all is well a scrape has %+v, want %d queues", s, queues)
	}
	// partly checks scrapes, the first of which comes before anybody knows that a master is gone.
	partly := func(what string, catalog float64) {
		t.Helper()
		for range 3 {
			begun := time.Now()
			s := c.scrape()
			t.Logf("%s: %+v after %v", what, s, time.Since(begun).Round(time.Millisecond))
			if s.counted == 0 || s.uncounted == 0 || s.counted+int(s.uncounted) != queues || s.catalog != catalog {
				t.Errorf("%s: a scrape has %+v, want a part of %d queues and %v of the catalog", what, s, queues, catalog)
			}
		}
		c.get("/readyz").want(http.StatusOK)
		c.get("/v1/info").want(http.StatusOK)
		if catalog > 0 {
			c.get("/v1/queues").refused(http.StatusServiceUnavailable, "unavailable")
			return
		}
		// The list needs the catalog only, and says of which queues it has no numbers.
		list := c.get("/v1/queues?limit=1000").want(http.StatusOK).body
		if n := bytes.Count(list, []byte(`"uncounted":`)); n == 0 || n == queues {
			t.Errorf("%s: %d of %d queues are listed without numbers, want a part", what, n, queues)
		}
	}
	first := fleet.MasterOf(t, "{kv}")
	for _, s := range fleet.Servers {
		if s != first {
			s.Freeze(t)
			partly("a master is frozen", 0)
			startsInPart(t, fleet.URL, queues)
			s.Thaw(t)
			break
		}
	}
	eventually(t, "all queues to be counted again", func() bool { return c.scrape() == scraped{queues, 0, 0} })
	first.Freeze(t)
	partly("the catalog's master is frozen", 1)
	first.Thaw(t)
	eventually(t, "the catalog to be there again", func() bool { return c.scrape() == scraped{queues, 0, 0} })
	first.Kill()
	partly("the catalog's master is gone", 1)
}

// startsInPart starts a node while a master of the cluster does not answer, which serves the other queues.
func startsInPart(t *testing.T, url string, queues int) {
	t.Helper()
	begun := time.Now()
	c := start(t, filepath.Join(t.TempDir(), "unused"), "--store", url, "--log-level", "error").client()
	took := time.Since(begun)
	served, refused := 0, 0
	for i := range queues {
		a := c.post(fmt.Sprintf("/v1/queues/q%d/messages", i), `{"body":"m"}`)
		switch a.status {
		case http.StatusOK:
			served++
		case http.StatusServiceUnavailable:
			refused++
		}
	}
	t.Logf("a node started after %v, took messages for %d queues and refused those for %d", took.Round(time.Millisecond), served, refused)
	if served == 0 || refused == 0 || served+refused != queues {
		t.Errorf("a node that started in part took messages for %d queues and refused those for %d, want a part of %d", served, refused, queues)
	}
}
