package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	exitFine   = 0
	exitFailed = 1
	exitUsage  = 2
)

// program is what a command may touch of the process around it.
type program struct {
	// name is what it was called as: where a person finds it again.
	name        string
	in          io.Reader
	out, errOut io.Writer
	env         []string
}

// usageError is a mistake in how a command was called or configured: exit code 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func isUsage(err error) bool {
	_, ok := errors.AsType[*usageError](err)
	return ok
}

// run executes one command line and returns its exit code.
func run(p program, args []string) int {
	ctx, cancel := untilSignal()
	defer cancel()
	root := newRoot(p)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitFine
	}
	fmt.Fprintf(p.errOut, "dabba: %s\n", oneLine(err))
	if isUsage(err) {
		return exitUsage
	}
	return exitFailed
}

// untilSignal is a context that the first SIGINT or SIGTERM ends, so that a command stops in good order. By then
// signals have their usual effect again: the second one kills the process.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals)
		cancel()
	}()
	return ctx, cancel
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

func newRoot(p program) *cobra.Command {
	root := &cobra.Command{
		Use:           "dabba",
		Short:         "Queues and topics over HTTP: one binary, nothing to install",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := "dabba --help lists the commands"
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "did you mean " + strings.Join(near, " or ") + "?"
			}
			return usagef("unknown command %q: %s", args[0], hint)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.errOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w: %s --help lists the flags", flagError(err), cmd.CommandPath())
	})
	root.AddCommand(
		newServe(p),
		newToken(p),
		newSend(p),
		newReceive(p),
		newQueues(p),
		newTopics(p),
		newRedrive(p),
		newBench(p),
		newFsck(p),
		newHealth(p),
		newVersion(p),
	)
	return root
}

// none refuses arguments; a command that takes only flags is called wrongly with any.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, but there is %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// one wants exactly one argument, of which what says what it is.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s takes one argument, %s, not %d", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}
