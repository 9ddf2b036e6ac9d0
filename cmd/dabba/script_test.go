package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary be dabba itself when it is called by that name, so that the tests run the real
// program in processes of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"dabba": main})
}

// TestScripts runs the transcripts in testdata/script. Beside testscript's own they have these commands:
//
//	fails CODE ARG...    runs dabba, which must exit with CODE and say why in one line
//	serve NAME ARG...    starts dabba serve on a free port and sets DABBA_URL, for the client commands, and NAME_ADDR, and
//	                     leaves NAME.banner
//	halt NAME CODE       sends it SIGTERM, wants it to exit with CODE and leaves NAME.log
//	hangup NAME TEXT     sends it SIGHUP and waits until its log has TEXT
//	lines FILE N         wants FILE to have N lines
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values[serversKey] = scriptServers{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fails":  scriptFails,
			"serve":  scriptServe,
			"halt":   scriptHalt,
			"hangup": scriptHangup,
			"lines":  scriptLines,
		},
	})
}

func scriptFails(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fails CODE ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec("dabba", args[1:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("run dabba: %v", err)
	}
	if got != want {
		ts.Fatalf("dabba %s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
	said := strings.TrimSuffix(ts.ReadFile("stderr"), "\n")
	if last := said[strings.LastIndexByte(said, '\n')+1:]; !strings.HasPrefix(last, "dabba: ") {
		ts.Fatalf("dabba %s: the last line of standard error is %q, want why it failed", strings.Join(args[1:], " "), last)
	}
}

// scriptServers are those of one script, by name.
type scriptServers map[string]*process

const serversKey = "servers"

func scriptServer(ts *testscript.TestScript, name string) *process {
	p := ts.Value(serversKey).(scriptServers)[name]
	if p == nil {
		ts.Fatalf("no server %s was started", name)
	}
	return p
}

func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: serve NAME ARG...")
	}
	cmd := exec.Command("dabba", append([]string{"serve", "--addr", "127.0.0.1:0"}, args[1:]...)...)
	cmd.Dir = ts.Getenv("WORK")
	p, err := startProcess(cmd)
	ts.Check(err)
	ts.Defer(p.kill)
	ts.Value(serversKey).(scriptServers)[args[0]] = p
	ts.Setenv("DABBA_URL", p.base)
	ts.Setenv(args[0]+"_ADDR", strings.TrimPrefix(p.base, "http://"))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".banner"), []byte(p.banner), 0o600))
}

func scriptHalt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: halt NAME CODE")
	}
	p := scriptServer(ts, args[0])
	ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := p.wait(); got != want {
		ts.Fatalf("server %s: exit code %d, want %d; it said:\n%s", args[0], got, want, p.stderr.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".log"), []byte(p.stderr.String()), 0o600))
}

func scriptHangup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hangup NAME TEXT")
	}
	p := scriptServer(ts, args[0])
	ts.Check(p.cmd.Process.Signal(syscall.SIGHUP))
	if !p.stderr.has(args[1]) {
		ts.Fatalf("server %s did not say %q, only:\n%s", args[0], args[1], p.stderr)
	}
}

func scriptLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile(args[0]), "\n"); got != want {
		ts.Fatalf("%s has %d lines, want %d", args[0], got, want)
	}
}
