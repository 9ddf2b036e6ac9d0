package memlimit

import (
	"os"
	"path/filepath"
	"testing"
)

func TestContainer(t *testing.T) {
	t.Parallel()
	const (
		v2     = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		v1     = "34 23 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		v1part = "34 23 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
		other  = "35 23 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	)
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing": {nil, 0},
		"no limit in version 2": {map[string]string{
			"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n",
		}, 0},
		"version 2 in a container": {map[string]string{
			"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "268435456\n",
		}, 256 << 20},
		"version 2, the group above it": {map[string]string{
			"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/a.slice/b.service\n",
			"sys/fs/cgroup/a.slice/memory.max": "1048576\n", "sys/fs/cgroup/a.slice/b.service/memory.max": "max\n",
		}, 1 << 20},
		"version 2, the least of several": {map[string]string{
			"proc/self/mountinfo": v2, "proc/self/cgroup": "0::/a.slice/b.service\n",
			"sys/fs/cgroup/a.slice/memory.max": "2097152\n", "sys/fs/cgroup/a.slice/b.service/memory.max": "1048576\n",
		}, 1 << 20},
		"version 1": {map[string]string{
			"proc/self/mountinfo": other + v1, "proc/self/cgroup": "5:cpu:/x\n4:memory:/y\n",
			"sys/fs/cgroup/memory/y/memory.limit_in_bytes": "536870912\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
		}, 512 << 20},
		"version 1, a part of the hierarchy": {map[string]string{
			"proc/self/mountinfo": v1part, "proc/self/cgroup": "4:memory:/docker/abc\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
		}, 512 << 20},
		"both, and the limit in version 1": {map[string]string{
			"proc/self/mountinfo": v1 + v2, "proc/self/cgroup": "4:memory:/y\n0::/\n",
			"sys/fs/cgroup/memory/y/memory.limit_in_bytes": "4096\n",
		}, 4096},
		"garbage": {map[string]string{
			"proc/self/mountinfo": v2, "proc/self/cgroup": "x\n", "sys/fs/cgroup/memory.max": "many\n",
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, content := range tt.files {
				file = filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := container(root); got != tt.want {
				t.Errorf("limit = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if got := machine(root); got != 0 {
		t.Errorf("memory of an unknown machine = %d, want 0", got)
	}
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "proc/meminfo"), []byte("MemTotal:        2048 kB\nMemFree: 1 kB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := machine(root); got != 2<<20 {
		t.Errorf("memory = %d, want 2 MiB", got)
	}
}
