package storetest_test

import "github.com/dabba-mq/dabba/store/storetest"

// logPlants are bugs that a log could have.
var logPlants = []storetest.Plant{
	{
		Name: "an expected end is not compared", File: "store/internal/model/log.go",
		Old: "*p.Expect != bounds.Next {", New: "*p.Expect > bounds.Next {",
		Package: "./store/memory", Run: "TestContract/log",
	},
	{
		Name: "retention takes what was appended last", File: "store/internal/model/log.go",
		Old: "&& i < len(p.marks)-1", New: "&& i < len(p.marks)",
		Package: "./store/memory", Run: "TestContract/log",
	},
	{
		Name: "thinned marks forget the highest time", File: "store/internal/model/log.go",
		Old: "latest: max(a.latest, b.latest), stamp", New: "latest: a.latest, stamp",
		Package: "./store/segment", Run: "TestContract/log",
	},
	{
		Name: "trimmed records come back with the next start", File: "store/segment/logreplay.go",
		Old: "known.state.ApplyTrimmed(ev)", New: "",
		Package: "./store/segment", Run: "TestCrash/workloads/(log|a_log)",
	},
	{
		Name: "files that only logs need are let go of", File: "store/segment/logreplay.go",
		Old: "needed[extents[i].file] = true", New: "",
		Package: "./store/segment", Run: "TestCrash/workloads/log",
	},
	{
		Name: "an append is answered before it is synced", File: "store/segment/logappend.go",
		Old: "if err := s.await(lsn, err); err != nil {\n\t\treturn store.AppendResult{}, err", New: "if err != nil {\n\t\treturn store.AppendResult{}, s.await(lsn, err)",
		Package: "./store/segment", Run: "TestCrash/workloads/(log|a_log)",
	},
}
