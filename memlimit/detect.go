package memlimit

import (
	"bufio"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// Container is the memory limit of the control group that the process is in, in bytes: the least of its own and those above
// it, in version 1 or 2. 0 means that there is none, or no control groups.
func Container() int64 { return container("/") }

// container looks below a root, which is "/" but in tests.
func container(root string) int64 {
	least := int64(0)
	groups := readLines(path.Join(root, "proc/self/cgroup"))
	for _, line := range readLines(path.Join(root, "proc/self/mountinfo")) {
		m, ok := memoryMount(line)
		if !ok {
			continue
		}
		// The group's path is as seen from the root of the hierarchy, of which the mount may show only a part.
		group, ok := strings.CutPrefix(m.groupOf(groups), strings.TrimSuffix(m.root, "/"))
		if !ok {
			group = "/"
		}
		for at := path.Join("/", group); ; at = path.Dir(at) {
			if n := readLimit(path.Join(root, m.point, at, m.file)); n > 0 && (least == 0 || n < least) {
				least = n
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

// mount is a hierarchy of control groups that may limit memory.
type mount struct {
	root, point string
	// file is what the limit is called in it.
	file string
	// unified says that it is version 2.
	unified bool
}

// memoryMount reads a line of mountinfo: see proc(5).
func memoryMount(line string) (mount, bool) {
	before, after, _ := strings.Cut(line, " - ")
	fields, kind := strings.Fields(before), strings.Fields(after)
	if len(fields) < 5 || len(kind) < 3 {
		return mount{}, false
	}
	m := mount{root: fields[3], point: fields[4]}
	switch kind[0] {
	case "cgroup2":
		m.file, m.unified = "memory.max", true
		return m, true
	case "cgroup":
		m.file = "memory.limit_in_bytes"
		return m, contains(kind[2], "memory")
	}
	return mount{}, false
}

// groupOf is the process's group in the hierarchy, from lines of /proc/self/cgroup.
func (m mount) groupOf(groups []string) string {
	for _, line := range groups {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) == 3 && (m.unified && parts[1] == "" || !m.unified && contains(parts[1], "memory")) {
			return parts[2]
		}
	}
	return "/"
}

// contains looks for a word in a list with commas.
func contains(list, word string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one == word {
			return true
		}
	}
	return false
}

// readLimit is 0 for none. Version 1 writes the largest multiple of a page for that.
func readLimit(file string) int64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n >= math.MaxInt64>>1 {
		return 0
	}
	return n
}

// Machine is the memory of the machine, in bytes; 0 if it is not known.
func Machine() int64 { return machine("/") }

func machine(root string) int64 {
	for _, line := range readLines(path.Join(root, "proc/meminfo")) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

func readLines(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read
	var lines []string
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}
