package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/dabba-mq/dabba/handlers/auth"
	"github.com/dabba-mq/dabba/handlers/sqs"
)

// loadAccessKeys is nil without a file.
func loadAccessKeys(path string) (*auth.AccessKeys, error) {
	if path == "" {
		return nil, nil
	}
	keys, err := auth.LoadAccessKeys(path)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return keys, nil
}

// reloadOnHangup reads the keys again with each SIGHUP, until the function that it returns is called. A file that became
// wrong replaces nothing.
func reloadOnHangup(keys *auth.AccessKeys, log *slog.Logger) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range hangups {
			if err := keys.Reload(); err != nil {
				log.Error("access keys not reloaded: the old ones stay", slog.Any("error", err))
				continue
			}
			log.Info("access keys reloaded", slog.Int("keys", keys.Len()))
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-ended
	}
}

// trySQS shows how to make a first queue where only signed requests are let in.
func trySQS(o serveOptions, s sqs.Settings, base string) string {
	command := fmt.Sprintf("  aws --endpoint-url %s --region %s sqs", base, cmp.Or(s.Region, sqs.DefaultRegion))
	queue := fmt.Sprintf("%s/%s/hello", base, cmp.Or(s.Account, sqs.DefaultAccount))
	return "Try it, with a key of " + o.accessKeys + " in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY:\n" +
		command + " create-queue --queue-name hello\n" +
		command + " send-message --queue-url " + queue + " --message-body Hello\n" +
		command + " receive-message --queue-url " + queue + " --wait-time-seconds 20\n"
}
