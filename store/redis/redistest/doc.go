// Package redistest gives tests Redis servers: that of the environment, or redis-server processes of their own, single or
// in fleets.
//
//   - [Shared] is one server for all tests of a package, [Start] one for a single test.
//   - [StartReplicated] is a master with replicas, [StartSentinel] the same with sentinels that replace a master that is away,
//     [StartCluster] a cluster of masters with replicas. Members can be killed, frozen and started again, and there are
//     methods that wait until others have taken over and until all is whole again.
//   - [StartProxy] stands between clients and one server, and can stall or cut what passes. A [Net] is such proxies
//     before all members of a fleet, which can be parted into two sides: [StartSentinelOn], [StartClusterOn].
//
// A test needs the program redis-server, or a server that the variable DABBA_TEST_REDIS names by its URL, which can only be
// shared. Where neither is, it is skipped, and where DABBA_REQUIRE_REDIS or CI is set it fails instead.
//
// Processes listen on free ports of the loopback address and keep their files in folders of their own, which are removed
// with them. When a test fails it shows what the members of its fleet have written to their logs in the end. Times of
// fleets are short: a master is replaced about two seconds after it has fallen silent.
package redistest
