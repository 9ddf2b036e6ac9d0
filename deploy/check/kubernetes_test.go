package check

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// folders are what the README tells to apply.
var folders = []string{"nodes", "try", "embedded"}

func kubernetes() fs.FS { return os.DirFS("../kubernetes") }

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../kubernetes/README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestManifests(t *testing.T) {
	t.Parallel()
	known := learn(t)
	all, err := manifests(kubernetes())
	if err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	for _, folder := range folders {
		s, err := load(kubernetes(), folder)
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, problem := range s.check(known, readme(t)) {
			t.Errorf("%s: %s", folder, problem)
		}
		for _, name := range s.files {
			used[name] = true
		}
		if !strings.Contains(readme(t), "kubectl apply -k deploy/kubernetes/"+folder) {
			t.Errorf("%s: README does not say how to apply it", folder)
		}
	}
	for _, name := range all {
		if !used[name] {
			t.Errorf("%s: no kustomization names it", name)
		}
	}
}

// TestPlantedMistakes changes the manifests, one mistake at a time, each of which has to be noticed.
func TestPlantedMistakes(t *testing.T) {
	t.Parallel()
	known := learn(t)
	for _, c := range []struct{ file, old, new, want string }{
		{"nodes/deployment.yaml", "terminationGracePeriodSeconds: 60", "terminationGracePeriod: 60", `unknown field "spec.template.spec.terminationGracePeriod"`},
		{"nodes/deployment.yaml", "defaultMode: 0440", "defaultmode: 0440", `unknown field "spec.template.spec.volumes[0].secret.defaultmode"`},
		{"nodes/deployment.yaml", "memory: 512Mi", "memory: 512 MiB", "quantities must match"},
		{"nodes/deployment.yaml", "kind: Deployment", "kind: DaemonSet", "no check knows DaemonSet"},
		{"nodes/deployment.yaml", "  name: dabba\n", "  name: dabba\n  namespace: queues\n", "names a namespace"},
		{"nodes/deployment.yaml", "  selector:\n    matchLabels:\n      app.kubernetes.io/name: dabba", "  selector:\n    matchLabels:\n      app.kubernetes.io/name: other", "its selector does not match"},
		{"nodes/deployment.yaml", "terminationGracePeriodSeconds: 60", "terminationGracePeriodSeconds: 44", "terminationGracePeriodSeconds is less"},
		{"nodes/deployment.yaml", "--admin-addr=0.0.0.0:9090", "--admin-addr=0.0.0.0:9091", "--admin-addr is on port 9091"},
		{"nodes/deployment.yaml", "--addr=0.0.0.0:8080", "--addr=127.0.0.1:8080", "does not listen to others"},
		{"nodes/deployment.yaml", "--addr=0.0.0.0:8080", "--address=0.0.0.0:8080", "no flag --address"},
		{"nodes/deployment.yaml", "--auth-keys=/etc/dabba/keys/auth.key", "--auth-keys=/etc/dabba/auth.key", "no secret is mounted"},
		{"nodes/deployment.yaml", "name: DABBA_STORE", "name: DABBA_STORAGE", "no variable DABBA_STORAGE"},
		{"nodes/deployment.yaml", "key: url", "key: uri", "the key uri of the secret dabba-redis"},
		{"nodes/deployment.yaml", "secretName: dabba-auth", "secretName: dabba-keys", "the key auth.key of the secret dabba-keys"},
		{"nodes/deployment.yaml", "value: 410MiB", "value: 600MiB", "GOMEMLIMIT 600MiB is not below"},
		{"nodes/deployment.yaml", "port: admin", "port: metrics", "asks port metrics"},
		{"nodes/deployment.yaml", `prometheus.io/port: "9090"`, `prometheus.io/port: "8081"`, "no port 8081 to scrape"},
		{"nodes/deployment.yaml", "- name: keys\n              mountPath", "- name: key\n              mountPath", "there is no volume key"},
		{"nodes/deployment.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "can be written"},
		{"nodes/deployment.yaml", "runAsUser: 65532", "runAsUser: 0", "may run as root"},
		{"nodes/deployment.yaml", "enableServiceLinks: false", "enableServiceLinks: true", "look like settings"},
		{"nodes/deployment.yaml", "  revisionHistoryLimit: 5", "  replicas: 2", "replicas would undo"},
		{"nodes/deployment.yaml", "image: dabba", "image: dabba:latest", "nothing in it runs the image dabba"},
		{"nodes/service.yaml", "targetPort: http", "targetPort: api", "has no port api"},
		{"nodes/service.yaml", "component: node\n  ports", "component: nodes\n  ports", "Service/dabba: it selects []"},
		{"nodes/autoscaler.yaml", "    name: dabba\n  minReplicas", "    name: nodes\n  minReplicas", "there is no Deployment/nodes"},
		{"nodes/disruption.yaml", "      app.kubernetes.io/component: node", "      app.kubernetes.io/component: redis", "PodDisruptionBudget/dabba: it selects"},
		{"nodes/network.yaml", "port: http", "port: 80", "NetworkPolicy/dabba: Deployment/dabba has no port 80"},
		{"nodes/kustomization.yaml", "service.yaml", "services.yaml", "services.yaml"},
		{"nodes/kustomization.yaml", "  - name: dabba", "  - name: daba", "where the image dabba is"},
		{"nodes/kustomization.yaml", "images:", "image:", `unknown field "image"`},
		{"embedded/statefulset.yaml", "replicas: 1", "replicas: 2", "one process has a data folder"},
		{"embedded/statefulset.yaml", "--data=/data", "--data=/messages", "neither on a claimed volume"},
		{"embedded/statefulset.yaml", "serviceName: dabba-embedded", "serviceName: embedded", `there is no Service "embedded"`},
		{"try/redis.yaml", "noeviction", "allkeys-lru", `lacks "--maxmemory-policy noeviction "`},
		{"try/redis.yaml", "component: node\n      ports", "component: nodes\n      ports", "NetworkPolicy/dabba-redis, from: it selects []"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			folder, _, _ := strings.Cut(c.file, "/")
			s, err := load(plant(t, c.file, c.old, c.new), folder)
			var found problems
			if err != nil {
				found.add("%v", err)
			} else {
				found = s.check(known, readme(t))
			}
			if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("%s with %q instead of %q: got %q, want something with %q", c.file, c.new, c.old, found, c.want)
			}
		})
	}
}

var (
	yamlInText = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	linkInText = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
)

// TestReadme looks at what the README shows and where it points to.
func TestReadme(t *testing.T) {
	t.Parallel()
	shown := yamlInText.FindAllStringSubmatch(readme(t), -1)
	for _, m := range shown {
		var object struct {
			metav1.TypeMeta
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := yaml.UnmarshalStrict([]byte(m[1]), &map[string]any{}); err != nil {
			t.Errorf("%v in\n%s", err, m[1])
		}
		if err := yaml.Unmarshal([]byte(m[1]), &object); err != nil || object.Kind == "" || object.APIVersion == "" || object.Metadata.Name == "" {
			t.Errorf("this is no object of Kubernetes (%v):\n%s", err, m[1])
		}
	}
	links := linkInText.FindAllStringSubmatch(readme(t), -1)
	for _, m := range links {
		if _, err := os.Stat(path.Join("../kubernetes", m[1])); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	if len(shown) == 0 || len(links) == 0 {
		t.Errorf("got %d objects and %d links, want some", len(shown), len(links))
	}
}

// plant is a copy of the manifests with the first of some text replaced in a file.
func plant(t *testing.T, file, old, replacement string) fs.FS {
	t.Helper()
	names, err := manifests(kubernetes())
	if err != nil {
		t.Fatal(err)
	}
	files := make(fstest.MapFS)
	for _, name := range names {
		data, err := fs.ReadFile(kubernetes(), name)
		if err != nil {
			t.Fatal(err)
		}
		if name == file {
			if !strings.Contains(string(data), old) {
				t.Fatalf("%s has no %q", file, old)
			}
			data = []byte(strings.Replace(string(data), old, replacement, 1))
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}
