// Package redistest gives tests a Redis server: that of the environment, or a redis-server process of their own.
//
// A test needs the program redis-server, or a server that the variable DABBA_TEST_REDIS names by its URL. Where neither is,
// it is skipped, and where DABBA_REQUIRE_REDIS or CI is set it fails instead.
//
// Processes listen on a free port of the loopback address and keep their files in a folder of their own, which is removed
// with them.
package redistest
