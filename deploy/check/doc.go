// Package check sees to it that deploy/kubernetes and compose.yaml are right, as far as that can be seen without a cluster:
// every document is what Kubernetes' own types know, names and labels that have to agree do, and the program takes the flags
// and variables and answers where the probes ask. Mistakes that are planted must be noticed. It is a module of its own, so
// that the server does not depend on Kubernetes' types. The tests of package integration run it; alone it wants the program:
//
//	go build -o /tmp/dabba ./cmd/dabba && DABBA_BINARY=/tmp/dabba go test -C deploy/check ./...
//
// What is not here: whether a cluster would schedule the pods, and whether a Redis is reached.
package check
