package check

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// graceful is how long, in seconds, dabba serve takes to stop at most: 20 for requests under way, 20 for what works in the
// background.
const graceful = 40

// problems are what is wrong with a set, in sentences.
type problems []string

func (p *problems) add(format string, a ...any) { *p = append(*p, fmt.Sprintf(format, a...)) }

// check looks for what does not fit together. The README has to say how the secrets are made.
func (s *set) check(known vocabulary, readme string) problems {
	var p problems
	for _, w := range s.workloads {
		p.checkWorkload(w)
		for _, c := range w.template.Spec.Containers {
			p.checkContainer(w, c)
			p.checkSecrets(w, c, readme)
			if strings.HasPrefix(c.Image, "redis:") {
				p.checkRedis(w.String(), c.Command)
			}
			if c.Image == "dabba" {
				p.checkProgram(w, c, known)
				if !slices.Contains(s.images, c.Image) {
					p.add("%s: no kustomization says where the image %s is", w, c.Image)
				}
			}
		}
		if w.kind == "StatefulSet" && !slices.Contains(s.names, "Service/"+w.service) {
			p.add("%s: there is no Service %q", w, w.service)
		}
	}
	if len(s.programs()) == 0 {
		p.add("nothing in it runs the image dabba")
	}
	for _, service := range s.services {
		p.checkService(s, service)
	}
	for _, b := range s.budgets {
		p.wantSelected(s, "PodDisruptionBudget/"+b.Name, b.Spec.Selector)
	}
	for _, policy := range s.policies {
		p.checkPolicy(s, policy)
	}
	for _, a := range s.autoscalers {
		target := a.Spec.ScaleTargetRef
		at := slices.IndexFunc(s.workloads, func(w workload) bool { return w.kind == target.Kind && w.name == target.Name })
		switch {
		case at < 0:
			p.add("HorizontalPodAutoscaler/%s: there is no %s/%s", a.Name, target.Kind, target.Name)
		case s.workloads[at].replicas != nil:
			p.add("%s: replicas would undo what the autoscaler did", s.workloads[at])
		}
	}
	return p
}

func (p *problems) checkWorkload(w workload) {
	if !selects(w.selector, w.template.Labels) {
		p.add("%s: its selector does not match its pods", w)
	}
	spec := w.template.Spec
	if isFalse := spec.AutomountServiceAccountToken; isFalse == nil || *isFalse {
		p.add("%s: it gets a token of the cluster, which it has no use for", w)
	}
	if isFalse := spec.EnableServiceLinks; isFalse == nil || *isFalse {
		p.add("%s: Services become variables that look like settings", w)
	}
	sc := spec.SecurityContext
	if sc == nil || sc.RunAsNonRoot == nil || !*sc.RunAsNonRoot || sc.RunAsUser == nil || *sc.RunAsUser == 0 || sc.FSGroup == nil {
		p.add("%s: it may run as root, or has no group for its volumes", w)
	}
	if sc == nil || sc.SeccompProfile == nil || sc.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		p.add("%s: it has no seccomp profile", w)
	}
	for _, c := range spec.TopologySpreadConstraints {
		if !selects(c.LabelSelector, w.template.Labels) {
			p.add("%s: it is spread by %s among other pods", w, c.TopologyKey)
		}
	}
	var pause int64
	for _, c := range spec.Containers {
		if l := c.Lifecycle; l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
			pause = max(pause, l.PreStop.Sleep.Seconds)
		}
	}
	if t := spec.TerminationGracePeriodSeconds; t == nil || *t < pause+graceful {
		p.add("%s: terminationGracePeriodSeconds is less than preStop and %d s", w, graceful)
	}
	for name, want := range w.template.Annotations {
		if name == "prometheus.io/port" && !hasPort(spec, intstr.Parse(want)) {
			p.add("%s: it has no port %s to scrape", w, want)
		}
	}
}

func (p *problems) checkContainer(w workload, c corev1.Container) {
	sc := c.SecurityContext
	if sc == nil || sc.ReadOnlyRootFilesystem == nil || !*sc.ReadOnlyRootFilesystem {
		p.add("%s: its root file system can be written", w)
	}
	if sc == nil || sc.AllowPrivilegeEscalation == nil || *sc.AllowPrivilegeEscalation ||
		sc.Capabilities == nil || !slices.Equal(sc.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		p.add("%s: it has privileges that it needs not", w)
	}
	if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
		p.add("%s: requests of CPU and memory and a limit of memory are needed", w)
	}
	if c.LivenessProbe == nil || c.ReadinessProbe == nil {
		p.add("%s: it lacks a probe", w)
	}
	for _, probe := range probes(c) {
		port := intstr.IntOrString{}
		switch {
		case probe.HTTPGet != nil:
			port = probe.HTTPGet.Port
		case probe.TCPSocket != nil:
			port = probe.TCPSocket.Port
		case probe.Exec != nil:
			continue
		}
		if !hasPort(w.template.Spec, port) {
			p.add("%s: a probe asks port %s, which is not there", w, port.String())
		}
	}
	for _, m := range c.VolumeMounts {
		claimed := slices.ContainsFunc(w.claims, func(v corev1.PersistentVolumeClaim) bool { return v.Name == m.Name })
		if _, ok := volume(w, m.Name); !ok && !claimed {
			p.add("%s: there is no volume %s", w, m.Name)
		}
	}
}

// checkSecrets sees that README says how each key of a secret comes to be.
func (p *problems) checkSecrets(w workload, c corev1.Container, readme string) {
	want := func(name, key string) {
		for line := range strings.Lines(readme) {
			if strings.Contains(line, "create secret generic "+name+" ") && strings.Contains(line, "="+key+"=") {
				return
			}
		}
		p.add("%s: README does not say how to make the key %s of the secret %s", w, key, name)
	}
	for _, e := range c.Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			want(e.ValueFrom.SecretKeyRef.Name, e.ValueFrom.SecretKeyRef.Key)
		}
	}
	for _, m := range c.VolumeMounts {
		if v, ok := volume(w, m.Name); ok && v.Secret != nil {
			for _, item := range v.Secret.Items {
				want(v.Secret.SecretName, item.Key)
			}
		}
	}
}

// checkRedis wants a Redis that syncs what it acknowledges, and throws nothing out.
func (p *problems) checkRedis(name string, command []string) {
	line := strings.Join(command, " ") + " "
	for _, want := range []string{"redis-server ", "--appendonly yes ", "--appendfsync always ", "--maxmemory-policy noeviction "} {
		if !strings.Contains(line, want) {
			p.add("%s: the command %q lacks %q", name, line, want)
		}
	}
}

func (p *problems) checkService(s *set, service *corev1.Service) {
	name := "Service/" + service.Name
	chosen := s.selected(&metav1.LabelSelector{MatchLabels: service.Spec.Selector})
	if len(chosen) != 1 {
		p.add("%s: it selects %v, not one kind of pods", name, chosen)
	}
	for _, w := range chosen {
		for _, port := range service.Spec.Ports {
			if !hasPort(w.template.Spec, port.TargetPort) {
				p.add("%s: %s has no port %s", name, w, port.TargetPort.String())
			}
		}
	}
}

func (p *problems) checkPolicy(s *set, policy *networkingv1.NetworkPolicy) {
	name := "NetworkPolicy/" + policy.Name
	p.wantSelected(s, name, &policy.Spec.PodSelector)
	for _, w := range s.selected(&policy.Spec.PodSelector) {
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				if port.Port == nil || !hasPort(w.template.Spec, *port.Port) {
					p.add("%s: %s has no port %v", name, w, port.Port)
				}
			}
			for _, peer := range rule.From {
				if peer.NamespaceSelector == nil && !isEverything(peer.PodSelector) {
					p.wantSelected(s, name+", from", peer.PodSelector)
				}
			}
		}
	}
}

func (p *problems) wantSelected(s *set, name string, selector *metav1.LabelSelector) {
	if chosen := s.selected(selector); len(chosen) != 1 {
		p.add("%s: it selects %v, not one kind of pods", name, chosen)
	}
}

// selected are the workloads whose pods a selector matches.
func (s *set) selected(selector *metav1.LabelSelector) []workload {
	var found []workload
	for _, w := range s.workloads {
		if selects(selector, w.template.Labels) {
			found = append(found, w)
		}
	}
	return found
}

// selects says that a selector, which names something, matches the labels.
func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && !parsed.Empty() && parsed.Matches(labels.Set(of))
}

func isEverything(selector *metav1.LabelSelector) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Empty()
}

func hasPort(spec corev1.PodSpec, want intstr.IntOrString) bool {
	return portNumber(spec, want) != 0
}

// portNumber is that of a port by its name or number, and 0 if no container has it.
func portNumber(spec corev1.PodSpec, want intstr.IntOrString) int32 {
	for _, c := range spec.Containers {
		for _, p := range c.Ports {
			if want.Type == intstr.String && p.Name == want.StrVal || want.Type == intstr.Int && p.ContainerPort == want.IntVal {
				return p.ContainerPort
			}
		}
	}
	return 0
}

func probes(c corev1.Container) []*corev1.Probe {
	return slices.DeleteFunc([]*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe},
		func(p *corev1.Probe) bool { return p == nil })
}

func volume(w workload, name string) (corev1.Volume, bool) {
	for _, v := range w.template.Spec.Volumes {
		if v.Name == name {
			return v, true
		}
	}
	return corev1.Volume{}, false
}

// mounted says that a file comes from a secret's volume, under that very name.
func mounted(w workload, c corev1.Container, file string) bool {
	for _, m := range c.VolumeMounts {
		v, ok := volume(w, m.Name)
		if !ok || v.Secret == nil {
			continue
		}
		for _, item := range v.Secret.Items {
			if path.Join(m.MountPath, item.Path) == file {
				return true
			}
		}
	}
	return false
}
