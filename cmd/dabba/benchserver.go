package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dabba-mq/dabba/store/redis"
)

const (
	// startTime is how long a started server may take to say where it is.
	startTime = 30 * time.Second
	// stopTime is how long it may take to stop.
	stopTime = 30 * time.Second
	// clockTick is the unit of processor time in /proc, the same on every Linux that Go runs on.
	clockTick = 10 * time.Millisecond
)

// benchServer is a server under measurement: one started here, whose process can be looked at, or one elsewhere.
type benchServer struct {
	base string
	// the process, when it is ours
	cmd   *exec.Cmd
	input io.Closer
	data  string
	// erase removes what it has kept elsewhere; nil if it has not.
	erase func() error
	said  io.Writer
}

// startServer starts this program's serve on a new data folder, or on a store that is empty, too.
func startServer(ctx context.Context, p program, parent, store string) (*benchServer, error) {
	dir, err := os.MkdirTemp(parent, "dabba-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a data folder: %w", err)
	}
	args := []string{"serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--log-level", "warn", "--until-input-ends"}
	erase := func() error { return nil }
	switch {
	case (&serveOptions{store: store}).onRedis():
		if store, erase, err = ownPrefix(ctx, store); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		args = append(args, "--store", store)
	case store != "":
		args = append(args, "--store", store)
	}
	s, err := start(ctx, p, args...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a server: %w", err), os.RemoveAll(dir), erase())
	}
	s.data, s.erase, s.said = dir, erase, p.errOut
	return s, nil
}

// ownPrefix is the address of a Redis server with a prefix that nothing has, and what removes all under it again.
func ownPrefix(ctx context.Context, address string) (own string, erase func() error, err error) {
	a, err := splitRedis(address)
	if err != nil {
		return "", nil, usagef("--store is an address like %s: %w", redisForms, err)
	}
	a.query.Set("prefix", "dabba-bench-"+rand.Text()[:8]+":")
	o, err := redisOptions(a.String())
	if err != nil {
		return "", nil, err
	}
	return a.String(), func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		if err := redis.Erase(ctx, o); err != nil {
			return fmt.Errorf("remove the keys %s* from Redis: %w", o.Prefix, err)
		}
		return nil
	}, nil
}

// startEmpty starts the handler that everything is compared with.
func startEmpty(ctx context.Context, p program) (*benchServer, error) {
	s, err := start(ctx, p, "bench", "--serve-empty")
	if err != nil {
		return nil, fmt.Errorf("start the empty handler: %w", err)
	}
	return s, nil
}

var printedURL = regexp.MustCompile(`http://[0-9.:\[\]a-f]+`)

// start runs this program with other arguments until its input is closed, and waits until it prints an address. It
// does not see our variables: they are meant for us.
func start(ctx context.Context, p program, args ...string) (*benchServer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...) //nolint:gosec,noctx // this very program; it ends with its input
	cmd.Args[0] = os.Args[0]
	cmd.Stderr = p.errOut
	for _, entry := range p.env {
		if !strings.HasPrefix(entry, envPrefix) {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &benchServer{cmd: cmd, input: input}
	found := make(chan string, 1)
	go func() {
		defer close(found)
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			if at := printedURL.FindString(lines.Text()); at != "" {
				found <- at
				break
			}
		}
		_, _ = io.Copy(io.Discard, output)
	}()
	timeout := time.NewTimer(startTime)
	defer timeout.Stop()
	select {
	case base, ok := <-found:
		if !ok {
			s.stop()
			return nil, errors.New("it ended at once")
		}
		s.base = base
		return s, nil
	case <-timeout.C:
		err = fmt.Errorf("it did not say where it is within %v", startTime)
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.stop()
	return nil, err
}

// stop ends a server of ours and removes its data.
func (s *benchServer) stop() {
	if s.cmd == nil {
		return
	}
	_ = s.input.Close()
	kill := time.AfterFunc(stopTime, func() { _ = s.cmd.Process.Kill() })
	_ = s.cmd.Wait()
	kill.Stop()
	if s.data != "" {
		_ = os.RemoveAll(s.data)
	}
	if s.erase != nil {
		if err := s.erase(); err != nil {
			fmt.Fprintf(s.said, "dabba: %v\n", err)
		}
	}
}

func (s *benchServer) connect(ctx context.Context, connections int, token string) (*load, error) {
	u, err := url.Parse(s.base)
	if err != nil {
		return nil, err
	}
	addr := u.Host
	if u.Port() == "" {
		addr += ":80"
	}
	return dial(ctx, addr, token, connections)
}

// measure runs work for a while and adds what it cost the server.
func (s *benchServer) measure(ctx context.Context, l *load, d time.Duration, do work) (measured, error) {
	cpu, syncs := s.cpu(), s.syncs(ctx, l.token)
	m, err := l.run(ctx, d, do)
	if err != nil {
		return m, err
	}
	m.cpu, m.syncs = -1, -1
	if after := s.cpu(); cpu >= 0 && after >= 0 {
		m.cpu = after - cpu
	}
	if after := s.syncs(ctx, l.token); syncs >= 0 && after >= 0 {
		m.syncs = after - syncs
	}
	return m, nil
}

// cpu is the processor time that the server's process has used, or -1.
func (s *benchServer) cpu() time.Duration {
	if s.cmd == nil {
		return -1
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return -1
	}
	// The name, in parentheses, may hold anything; utime and stime are the 12th and 13th field after it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return -1
	}
	user, err1 := strconv.ParseInt(string(fields[11]), 10, 64)
	system, err2 := strconv.ParseInt(string(fields[12]), 10, 64)
	if err1 != nil || err2 != nil {
		return -1
	}
	return time.Duration(user+system) * clockTick
}

// resident is how much memory the server's process holds, in bytes, or -1.
func (s *benchServer) resident() int64 {
	if s.cmd == nil {
		return -1
	}
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		return -1
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return -1
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return -1
	}
	return pages * int64(os.Getpagesize())
}

var syncCount = []byte("\ndabba_fsync_seconds_count ")

// syncs is how many disk syncs the server reports so far, or -1.
func (s *benchServer) syncs(ctx context.Context, token string) int64 {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/metrics", nil)
	if err != nil {
		return -1
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return -1
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil || resp.StatusCode != http.StatusOK {
		return -1
	}
	_, value, ok := bytes.Cut(text, syncCount)
	if !ok {
		return -1
	}
	value, _, _ = bytes.Cut(value, []byte("\n"))
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return -1
	}
	return int64(n)
}
