package check

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// set is what kubectl apply -k of one folder makes.
type set struct {
	workloads   []workload
	services    []*corev1.Service
	autoscalers []*autoscalingv2.HorizontalPodAutoscaler
	budgets     []*policyv1.PodDisruptionBudget
	policies    []*networkingv1.NetworkPolicy
	// images are the names that the kustomizations replace.
	images []string
	// names are kind/name of all objects.
	names []string
	// files are all that was read.
	files []string
}

// workload is a Deployment or a StatefulSet.
type workload struct {
	kind, name, service string
	selector            *metav1.LabelSelector
	template            corev1.PodTemplateSpec
	claims              []corev1.PersistentVolumeClaim
	replicas            *int32
}

func (w workload) String() string { return w.kind + "/" + w.name }

// kustomization is what we use of a kustomization.yaml.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`
	Resources       []string `json:"resources"`
	Images          []struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
	} `json:"images,omitempty"`
}

// load reads the folder's kustomization and all that it names.
func load(files fs.FS, folder string) (*set, error) {
	s := new(set)
	return s, s.add(files, folder)
}

func (s *set) add(files fs.FS, folder string) error {
	file := path.Join(folder, "kustomization.yaml")
	data, err := s.read(files, file)
	if err != nil {
		return err
	}
	var k kustomization
	if err := decode(data, &k); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if k.APIVersion != "kustomize.config.k8s.io/v1beta1" || k.Kind != "Kustomization" {
		return fmt.Errorf("%s: it is a %s of %s", file, k.Kind, k.APIVersion)
	}
	for _, image := range k.Images {
		if image.NewName == "" || image.NewTag == "" {
			return fmt.Errorf("%s: image %s without a new name or tag", file, image.Name)
		}
		s.images = append(s.images, image.Name)
	}
	for _, resource := range k.Resources {
		name := path.Join(folder, resource)
		if path.Ext(name) != ".yaml" {
			err = s.add(files, name)
		} else {
			err = s.addFile(files, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *set) read(files fs.FS, name string) ([]byte, error) {
	s.files = append(s.files, name)
	return fs.ReadFile(files, name)
}

func (s *set) addFile(files fs.FS, name string) error {
	data, err := s.read(files, name)
	if err != nil {
		return err
	}
	for i, document := range bytes.Split(data, []byte("\n---\n")) {
		if err := s.addDocument(document); err != nil {
			return fmt.Errorf("%s, document %d: %w", name, i+1, err)
		}
	}
	return nil
}

func (s *set) addDocument(data []byte) error {
	var what struct {
		metav1.TypeMeta
		metav1.ObjectMeta `json:"metadata"`
	}
	if err := yaml.Unmarshal(data, &what); err != nil {
		return err
	}
	name := what.Kind + "/" + what.Name
	switch {
	case what.Name == "":
		return fmt.Errorf("%s without a name", what.Kind)
	case what.Namespace != "":
		return fmt.Errorf("%s names a namespace, which is for whoever applies it", name)
	case slices.Contains(s.names, name):
		return fmt.Errorf("%s is there twice", name)
	}
	s.names = append(s.names, name)
	switch what.APIVersion + " " + what.Kind {
	case "apps/v1 Deployment":
		d := new(appsv1.Deployment)
		err := decode(data, d)
		s.workloads = append(s.workloads, workload{
			kind: d.Kind, name: d.Name, selector: d.Spec.Selector, template: d.Spec.Template, replicas: d.Spec.Replicas,
		})
		return err
	case "apps/v1 StatefulSet":
		d := new(appsv1.StatefulSet)
		err := decode(data, d)
		s.workloads = append(s.workloads, workload{
			kind: d.Kind, name: d.Name, service: d.Spec.ServiceName, selector: d.Spec.Selector, template: d.Spec.Template,
			claims: d.Spec.VolumeClaimTemplates, replicas: d.Spec.Replicas,
		})
		return err
	case "v1 Service":
		return decodeInto(&s.services, data)
	case "autoscaling/v2 HorizontalPodAutoscaler":
		return decodeInto(&s.autoscalers, data)
	case "policy/v1 PodDisruptionBudget":
		return decodeInto(&s.budgets, data)
	case "networking.k8s.io/v1 NetworkPolicy":
		return decodeInto(&s.policies, data)
	}
	return fmt.Errorf("no check knows %s of %s; teach this test", what.Kind, what.APIVersion)
}

func decodeInto[T any](list *[]*T, data []byte) error {
	object := new(T)
	*list = append(*list, object)
	return decode(data, object)
}

// decode is strict: a field that the type does not have, or twice, or written with other capitals, is an error.
func decode(data []byte, object any) error {
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return err
	}
	strict, err := json.UnmarshalStrict(text, object)
	return errors.Join(append(strict, err)...)
}

// manifests are all YAML files in a folder tree.
func manifests(files fs.FS) ([]string, error) {
	var found []string
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".yaml") {
			found = append(found, name)
		}
		return err
	})
	return found, err
}
