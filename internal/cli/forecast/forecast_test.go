// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/golden"
)

// living is a set of some pods, all available at its one revision.
func living(t *testing.T, replicas int32, change func(*kruisev1alpha1.CloneSet)) Live {
	t.Helper()
	set := builders.CloneSet("web").Replicas(replicas).InPlace().MaxUnavailable("2").Build()
	set.ResourceVersion = "1"
	if change != nil {
		change(set)
	}
	reference := *metav1.NewControllerRef(set, kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind))
	stored, err := revision.Draft{Owner: set, Reference: reference, Template: &set.Spec.Template, Number: 1}.Object()
	if err != nil {
		t.Fatal(err)
	}
	set.Status.CurrentRevision, set.Status.UpdateRevision = stored.Name, stored.Name
	live := Live{Object: set, Objects: story.Objects{Revisions: []*appsv1.ControllerRevision{stored}}}
	for i := range replicas {
		live.Pods = append(live.Pods, builders.OwnedPod(set, fmt.Sprintf("p%02d", i), revision.HashOf(stored.Name)).Build())
	}
	return live
}

func image(to string) func(*kruisev1alpha1.CloneSet) {
	return func(set *kruisev1alpha1.CloneSet) { set.Spec.Template.Spec.Containers[0].Image = to }
}

func both(changes ...func(*kruisev1alpha1.CloneSet)) func(*kruisev1alpha1.CloneSet) {
	return func(set *kruisev1alpha1.CloneSet) {
		for _, change := range changes {
			change(set)
		}
	}
}

func variable(set *kruisev1alpha1.CloneSet) {
	set.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", Value: "new"}}
}

// TestGolden shows forecasts as people see them.
func TestGolden(t *testing.T) {
	next := image("registry.test/app:v2")
	strategy := func(kind kruisev1alpha1.CloneSetUpdateStrategyType) func(*kruisev1alpha1.CloneSet) {
		return func(set *kruisev1alpha1.CloneSet) { set.Spec.UpdateStrategy.Type = kind }
	}
	hook := func(set *kruisev1alpha1.CloneSet) {
		set.Spec.Lifecycle = &kruisev1alpha1.Lifecycle{InPlaceUpdate: &kruisev1alpha1.LifecycleHook{LabelsHandler: map[string]string{"drain": "needed"}}}
		set.Spec.Template.Labels["drain"] = "needed"
	}
	for name, test := range map[string]struct {
		replicas int32
		live     func(*kruisev1alpha1.CloneSet)
		pods     func([]*corev1.Pod)
		edit     func(*kruisev1alpha1.CloneSet)
		all      bool
	}{
		"nothing":             {replicas: 3},
		"in-place":            {replicas: 5, edit: next},
		"recreate-by-type":    {replicas: 2, edit: both(next, strategy(kruisev1alpha1.ReCreateCloneSetUpdateStrategyType))},
		"recreate":            {replicas: 3, edit: both(next, variable)},
		"many":                {replicas: 40, edit: next},
		"many-all":            {replicas: 12, edit: next, all: true},
		"scale":               {replicas: 5, edit: func(set *kruisev1alpha1.CloneSet) { *set.Spec.Replicas = 2 }},
		"partition":           {replicas: 4, edit: both(next, partition("3"))},
		"paused":              {replicas: 3, edit: both(next, func(set *kruisev1alpha1.CloneSet) { set.Spec.UpdateStrategy.Paused = true })},
		"on-delete":           {replicas: 3, edit: both(next, strategy(kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType))},
		"in-place-only":       {replicas: 3, edit: both(next, variable, strategy(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType))},
		"grace-and-min-ready": {replicas: 2, live: graceAndMinReady, edit: next},
		"hook":                {replicas: 2, live: hook, edit: next},
		"a-missing-image": {replicas: 3, pods: func(pods []*corev1.Pod) {
			pods[1].Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
			pods[1].Status.ContainerStatuses[0].Ready = false
			for i := range pods[1].Status.Conditions {
				if pods[1].Status.Conditions[i].Type == corev1.PodReady {
					pods[1].Status.Conditions[i].Status = corev1.ConditionFalse
				}
			}
		}, edit: func(set *kruisev1alpha1.CloneSet) { *set.Spec.Replicas = 4 }},
		"invalid": {replicas: 1, edit: func(set *kruisev1alpha1.CloneSet) { set.Spec.Selector = &metav1.LabelSelector{} }},
	} {
		t.Run(name, func(t *testing.T) {
			live := living(t, test.replicas, test.live)
			if test.pods != nil {
				test.pods(live.Pods)
			}
			wanted := live.Object.(*kruisev1alpha1.CloneSet).DeepCopy()
			if test.edit != nil {
				test.edit(wanted)
			}
			f, err := New("web.yaml", cloneSets(), live, wanted, builders.Epoch().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			golden.Lines(t, name+".txt", f.Lines(test.all))
			if quiet := name == "nothing"; quiet == f.ChangesAnything() {
				t.Errorf("changes anything: %v", f.ChangesAnything())
			}
		})
	}
}

func partition(n string) func(*kruisev1alpha1.CloneSet) {
	return func(set *kruisev1alpha1.CloneSet) {
		set.Spec.UpdateStrategy.Partition = builders.CloneSet("x").Partition(n).Build().Spec.UpdateStrategy.Partition
	}
}

func graceAndMinReady(set *kruisev1alpha1.CloneSet) {
	set.Spec.MinReadySeconds = 5
	set.Spec.UpdateStrategy.InPlaceUpdateStrategy = &kruisev1alpha1.InPlaceUpdateStrategy{GracePeriodSeconds: 10}
	set.Spec.UpdateStrategy.MaxUnavailable = builders.CloneSet("x").MaxUnavailable("1").Build().Spec.UpdateStrategy.MaxUnavailable
}

func readManifests(t *testing.T, text, namespace string) ([]Manifest, error) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := kruisev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return ReadManifests("f.yaml", strings.NewReader(text), namespace, scheme, Known{
		Kinds:   []schema.GroupVersionKind{kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind)},
		Refused: map[schema.GroupKind]string{{Group: "batch", Kind: "Job"}: "it runs once"},
	})
}

func TestReading(t *testing.T) {
	const good = "apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet\nmetadata: {name: web}\nspec: {replicas: 2}\n"
	for sentence, test := range map[string]struct{ text, want string }{
		"a misspelt field":    {strings.Replace(good, "replicas", "replicaz", 1), `f.yaml: document 1 (CloneSet web): strict decoding error: unknown field "spec.replicaz"`},
		"a text for a number": {strings.Replace(good, "2}", `"two"}`, 1), `f.yaml: document 1 (CloneSet web): json: cannot unmarshal string into Go struct field CloneSetSpec.spec.replicas of type int32`},
		"another version":     {strings.Replace(good, "v1alpha1", "v9", 1), `f.yaml: document 1 (CloneSet web): apiVersion: CloneSet of "apps.kruise.io/v9" is not known, only apps.kruise.io/v1alpha1`},
		"no name":             {strings.Replace(good, "name: web", "", 1), `f.yaml: document 1 (CloneSet ): metadata.name: is missing`},
		"no set":              {"kind: Pod\n", "f.yaml: holds nothing that can be planned, only Pod; these kinds can be: CloneSet"},
		"what is refused": {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n---\nkind: Pod\n",
			"f.yaml: document 1 (Job a): no Job can be planned: it runs once; these kinds can be: CloneSet"},
		"nothing at all":            {"# nothing\n", "f.yaml: holds nothing that can be planned; these kinds can be: CloneSet"},
		"no object":                 {"[1]\n", "f.yaml: document 1: is not an object of Kubernetes"},
		"bad YAML in document 2":    {good + "---\na: [\n", "f.yaml: document 2: "},
		"good, behind another kind": {"kind: Service\n---\n" + good, ""},
		"good, in a list":           {`{"kind":"List","items":[{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"web"}}]}`, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			found, err := readManifests(t, test.text, "shop")
			if test.want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.want) {
					t.Errorf("error %v, want %s", err, test.want)
				}
				return
			}
			if err != nil || len(found) != 1 || found[0].Key().String() != "shop/web" {
				t.Errorf("found %v, error %v", found, err)
			}
		})
	}
}

// What the manifest said before and does not say now is removed; what others set stays.
func TestMerging(t *testing.T) {
	live := builders.CloneSet("web").Replicas(5).Partition("3").MaxUnavailable("1").Build()
	live.ResourceVersion = "7"
	live.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: `{"metadata":{"name":"web","namespace":"default"},"spec":{"updateStrategy":{"partition":3}}}`}
	manifests, err := readManifests(t, "apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet\nmetadata: {name: web}\nspec: {updateStrategy: {maxSurge: 1}}\n", "default")
	if err != nil {
		t.Fatal(err)
	}
	merged, err := Merge(live, manifests[0])
	if err != nil {
		t.Fatal(err)
	}
	fields, err := cloneSets().Fields(live, merged)
	if err != nil {
		t.Fatal(err)
	}
	want := []Field{{"spec.updateStrategy.maxSurge", "0", "1"}, {"spec.updateStrategy.partition", "3", "0"}}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if merged.GetUID() != live.UID || merged.GetResourceVersion() != "7" {
		t.Errorf("the merged set is not the live one: %s %s", merged.GetUID(), merged.GetResourceVersion())
	}
}
