// Package containers starts what an operator runs, several nodes of Dabba on Redis with replicas, Sentinel or Cluster, breaks
// some of it, and compares what clients were told with what is there.
//
// The same tests run in two kinds of lab:
//
//   - containers: the image of this repository and one of Redis, by way of testcontainers-go. It wants a container engine.
//     DABBA_TEST_IMAGE names an image of Dabba and DABBA_TEST_REDIS_IMAGE one of Redis; the script images makes those that
//     are not named, without a registry if need be.
//   - processes: the program, and redis-server as this machine has it.
//
// DABBA_TEST_LAB says which. Otherwise it is containers where an engine answers, else processes where there is redis-server,
// and where there is neither the tests are skipped, or fail if DABBA_REQUIRE_REDIS or CI is set. A run says which it was:
//
//	make containers
//
// It is a module of its own, so that the server does not depend on clients of container engines.
package containers
