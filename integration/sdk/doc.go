// Package sdk drives a server with the AWS SDK for Go, as a team does that moves off SQS: nothing of the client is changed
// but its endpoint. It is a module of its own, so that the server does not depend on the SDK. The tests of package
// integration run it; alone it wants the program under test:
//
//	go build -o /tmp/dabba ./cmd/dabba && DABBA_BINARY=/tmp/dabba go test -C integration/sdk ./...
package sdk
