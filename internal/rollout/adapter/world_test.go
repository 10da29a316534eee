// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/step"
)

var (
	now    = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	holder = Holder{Kind: rolloutv1alpha1.GroupVersion.WithKind("RolloutTrait"), Name: "release", UID: "r-uid", Own: []types.UID{"tracker"}}
	flock  = schema.GroupVersionKind{Group: "example.dev", Version: "v1", Kind: "Flock"}
	herd   = schema.GroupVersionKind{Group: "example.dev", Version: "v1", Kind: "Herd"}
)

// fields are what stands in an object, by their paths.
type fields map[string]any

// kindNamed is a kind by its name; "Advanced" is the StatefulSet of apps.kruise.io, and a Flock is described by paths.
func kindNamed(t testing.TB, name string) Kind {
	t.Helper()
	ids := map[string]schema.GroupVersionKind{
		"Deployment": deployment{}.ID(), "StatefulSet": statefulSet{}.ID(), "DaemonSet": daemonSet{}.ID(), "CloneSet": cloneSet{}.ID(),
		"Advanced": advancedStatefulSet{}.ID(), "InPlaceSet": inPlaceSet{}.ID(), "CafeDeployment": cafeDeployment{}.ID(), "Flock": flock, "Herd": herd,
	}
	k, known := registry(t).kinds[ids[name]]
	if !known {
		t.Fatalf("there is no kind %s", name)
	}
	return k
}

func registry(t testing.TB) Registry {
	t.Helper()
	r, err := NewRegistry(
		Declaration{APIVersion: "example.dev/v1", Kind: "Flock", Paths: map[string]string{
			"replicas-path": ".spec.birds", "partition-path": ".spec.keep", "paused-path": ".spec.rests",
			"updated-path": ".status.fresh", "updated-available-path": ".status.freshAvailable", "current-revision-path": ".status.currentRevision",
		}},
		Declaration{APIVersion: "example.dev/v1", Kind: "Herd", Paths: map[string]string{"replicas-path": ".spec.replicas"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// versioned are the kinds that hold two versions.
var versioned = []string{"StatefulSet", "Advanced", "DaemonSet", "CloneSet", "InPlaceSet", "CafeDeployment", "Flock"}

// workload is one of 5 pods that is held back by hand: its template is new, and no pod has it yet.
func workload(t testing.TB, kind string, change fields) *unstructured.Unstructured {
	t.Helper()
	k := kindNamed(t, kind)
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(k.ID())
	o.SetNamespace("shop")
	o.SetName("web")
	o.SetUID("w-uid")
	o.SetGeneration(3)
	put(o, fields{
		"spec.selector.matchLabels": map[string]any{"app": "web"}, "spec.template": template("v2"), "status.observedGeneration": int64(3),
		"status.currentRevision": "web-old", "status.updateRevision": "web-new", "status.updatedReplicas": int64(0),
		"status.replicas": int64(5), "status.readyReplicas": int64(5), "status.availableReplicas": int64(5), "spec.minReadySeconds": int64(0),
	})
	where := k.places()
	if len(where.replicas) > 0 {
		where.replicas.set(o, int64(5))
	}
	switch {
	case len(where.partition) > 0:
		where.partition.set(o, int64(5))
	case kind == "DaemonSet":
		put(o, fields{
			"spec.updateStrategy.type": "OnDelete", "status.desiredNumberScheduled": int64(5), "status.currentNumberScheduled": int64(5),
			"status.numberReady": int64(5), "status.numberAvailable": int64(5),
		})
	default:
		put(o, fields{"status.updatedReplicas": int64(5)})
	}
	if kind == "StatefulSet" || kind == "Advanced" {
		put(o, fields{"spec.updateStrategy.type": "RollingUpdate"})
	}
	put(o, change)
	return o
}

func put(o *unstructured.Unstructured, change fields) {
	for name, value := range change {
		p, err := parsePath("." + name)
		if err != nil {
			panic(err)
		}
		if value == nil {
			p.remove(o)
			continue
		}
		p.set(o, value)
	}
}

// template of an image, with a field that our types do not know.
func template(image string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "registry.test/app:" + image, "novelty": "kept"}}},
	}
}

// revisionOf is a stored revision of the workload.
func revisionOf(t testing.TB, hash, image string, number int64) *appsv1.ControllerRevision {
	t.Helper()
	tree := template(image)
	tree["$patch"] = "replace"
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": tree}})
	if err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-" + hash, Labels: map[string]string{"app": "web", "controller-revision-hash": hash}, OwnerReferences: owned()},
		Data:       runtime.RawExtension{Raw: raw}, Revision: number,
	}
}

func owned() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "w-uid", Controller: ptr.To(true)}}
}

// podOf is a pod of the workload; it has been ready for a minute unless it is not.
func podOf(number int, hash string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%d", number), UID: types.UID(fmt.Sprintf("p-%d", number)),
			Labels: map[string]string{"app": "web", "controller-revision-hash": "web-" + hash}, OwnerReferences: owned(),
		},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func unready(p *corev1.Pod) {
	p.Status.Conditions[0].Status = corev1.ConditionFalse
	p.Status.ContainerStatuses[0].Ready = false
}

func leaving(p *corev1.Pod) {
	p.DeletionTimestamp, p.Finalizers = ptr.To(metav1.NewTime(now)), []string{"test/keeps"}
}

// podsOn are pods 0, 1, … of the revisions with these hashes; "" leaves one out.
func podsOn(hashes ...string) []client.Object {
	var pods []client.Object
	for i, hash := range hashes {
		if hash != "" {
			pods = append(pods, podOf(i, hash))
		}
	}
	return pods
}

// server is a fake API server with a workload, its revisions and what else there is.
func server(t testing.TB, o *unstructured.Unstructured, others ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypes(appsv1.SchemeGroupVersion, &appsv1.ControllerRevision{}, &appsv1.ControllerRevisionList{}) // and no workload: it is stored as it is
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for id := range registry(t).kinds {
		mapper.Add(id, apimeta.RESTScopeNamespace)
	}
	for _, id := range []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod"), appsv1.SchemeGroupVersion.WithKind("ControllerRevision")} {
		mapper.Add(id, apimeta.RESTScopeNamespace)
	}
	mapper.Add(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, apimeta.RESTScopeRoot)
	objects := append([]client.Object{}, others...)
	if o != nil {
		objects = append(objects, o)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).Build()
}

// bothRevisions are the one of before, and the newest.
func bothRevisions(t testing.TB) []client.Object {
	return []client.Object{revisionOf(t, "old", "v1", 1), revisionOf(t, "new", "v2", 2)}
}

// observe looks at the workload of a kind.
func observe(t testing.TB, kind string, c client.Client, ask Ask) Seen {
	t.Helper()
	id := kindNamed(t, kind).ID()
	a := &Adapters{Live: c, Mapper: c.RESTMapper(), Registry: registry(t)}
	ref := rolloutv1alpha1.WorkloadReference{APIVersion: id.GroupVersion().String(), Kind: id.Kind, Name: "web"}
	seen, err := a.Observe(t.Context(), "shop", ref, holder, ask, now)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// act takes the steps of an action, and returns them.
func act(t testing.TB, c client.Client, seen Seen, a engine.Action) []step.Step {
	t.Helper()
	steps, err := Steps(seen, holder, a)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		switch s := s.(type) {
		case step.ChangeSet:
			before := s.Before.DeepCopyObject().(client.Object)
			after := s.After.DeepCopyObject().(client.Object)
			if err := c.Patch(t.Context(), after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(in("spec").get(before.(*unstructured.Unstructured)), in("spec").get(after.(*unstructured.Unstructured))) {
				after.SetGeneration(after.GetGeneration() + 1) // as a server does
				if err := c.Update(t.Context(), after); err != nil {
					t.Fatal(err)
				}
			}
		case step.DeletePod:
			if err := c.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("step %T", s)
		}
	}
	return steps
}

func stored(t testing.TB, kind string, c client.Client) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kindNamed(t, kind).ID())
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, o); err != nil {
		t.Fatal(err)
	}
	return o
}

var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// mapperWith knows one kind of example.dev.
func mapperWith(t testing.TB, kind string) apimeta.RESTMapper {
	t.Helper()
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Group: "example.dev", Version: "v1", Kind: kind}, apimeta.RESTScopeNamespace)
	return mapper
}
