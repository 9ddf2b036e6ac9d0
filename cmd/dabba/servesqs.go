package main

import (
	"github.com/spf13/pflag"

	"github.com/dabba-mq/dabba/handlers/sqs"
)

// sqsOptions are the flags of serve that are about the SQS wire.
type sqsOptions struct {
	account, region string
	relaxed         bool
}

func (o *sqsOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.account, "sqs-account", sqs.DefaultAccount, "account `number` in queue URLs and ARNs of the SQS wire")
	f.StringVar(&o.region, "sqs-region", sqs.DefaultRegion, "`region` of the queues that the native API shows; other regions that SQS clients name are kept apart")
	f.BoolVar(&o.relaxed, "sqs-relaxed", false, "leave out SQS's waits of 60 seconds between two purges and before a deleted queue is made again")
}

func (o *sqsOptions) check() error {
	if !sqs.IsAccount(o.account) {
		return usagef("--sqs-account is a number of 12 digits, not %q", o.account)
	}
	if !sqs.IsRegion(o.region) {
		return usagef("--sqs-region is a name like us-east-1, not %q", o.region)
	}
	return nil
}

func (o *sqsOptions) settings(publicURL string) sqs.Settings {
	return sqs.Settings{Account: o.account, Region: o.region, PublicURL: publicURL, Relaxed: o.relaxed}
}
