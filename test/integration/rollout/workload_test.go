// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/step"
)

const namespace = "default"

var holder = adapter.Holder{Kind: rolloutv1alpha1.GroupVersion.WithKind("RolloutTrait"), Name: "release", UID: "11111111-1111-1111-1111-111111111111"}

// kind is how a workload of a kind is made, and what of it is counted in pods that a test makes.
type kind struct {
	apiVersion, kind string
	// spec is what its spec has besides replicas, selector and template.
	spec string
	// holds is what holds back its pods when its template is changed by hand.
	holds string
	// pods: the adapter counts pods.
	pods bool
}

var inPlace = map[string]kind{
	"statefulset":    {apiVersion: "apps/v1", kind: "StatefulSet", spec: "{serviceName: web, ordinals: {start: 3}}", holds: "{updateStrategy: {rollingUpdate: {partition: 5}}}", pods: true},
	"daemonset":      {apiVersion: "apps/v1", kind: "DaemonSet", spec: "{updateStrategy: {type: OnDelete}}", holds: "{}", pods: true},
	"cloneset":       {apiVersion: "apps.kruise.io/v1alpha1", kind: "CloneSet", spec: "{}", holds: "{updateStrategy: {paused: true}}"},
	"advanced":       {apiVersion: "apps.kruise.io/v1beta1", kind: "StatefulSet", spec: "{serviceName: web, reserveOrdinals: [1]}", holds: "{updateStrategy: {rollingUpdate: {paused: true}}}", pods: true},
	"inplaceset":     {apiVersion: "apps.cafe.cloud.alipay.com/v1alpha1", kind: "InPlaceSet", spec: "{}", holds: "{strategy: {partition: 100%}}"},
	"cafedeployment": {apiVersion: "apps.cafe.cloud.alipay.com/v1alpha1", kind: "CafeDeployment", spec: "{topology: {values: [CellA]}, strategy: {batchSize: 2}}", holds: "{strategy: {pause: true}}"},
	"flock":          {apiVersion: "test.slipway.dev/v1", kind: "Flock", spec: "{keep: 0}", holds: "{keep: 5}"},
}

// workload is one on the server.
type workload struct {
	t    *testing.T
	kind kind
	name string
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatalf("%s: %s", err, text)
	}
	return o
}

const template = `{metadata: {labels: {app: %s}}, spec: {containers: [{name: main, image: "registry.test/app:%s"}]}}`

// create makes a workload of 5 pods.
func create(t *testing.T, k kind, name string) *workload {
	t.Helper()
	w := &workload{t: t, kind: k, name: name}
	o := object(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {namespace: %s, name: %s}, spec: %s}", k.apiVersion, k.kind, namespace, name, k.spec))
	spec := o.Object["spec"].(map[string]any)
	if spec["selector"] = map[string]any{"matchLabels": map[string]any{"app": name}}; k.kind != "DaemonSet" {
		spec["replicas"] = int64(5)
	}
	spec["template"] = object(t, fmt.Sprintf(template, name, "v1")).Object
	if err := live.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, list := range []client.Object{o, &corev1.Pod{}, &appsv1.ControllerRevision{}} {
			var err error
			if list == client.Object(o) {
				err = live.Delete(context.Background(), o)
			} else {
				err = live.DeleteAllOf(context.Background(), list, client.InNamespace(namespace), client.MatchingLabels{"app": name}, client.GracePeriodSeconds(0))
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

func (w *workload) get() *unstructured.Unstructured {
	w.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(w.kind.apiVersion)
	o.SetKind(w.kind.kind)
	if err := live.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: w.name}, o); err != nil {
		w.t.Fatal(err)
	}
	return o
}

// edit merges into the spec what a person writes.
func (w *workload) edit(text string) {
	w.t.Helper()
	raw, err := json.Marshal(map[string]any{"spec": object(w.t, text).Object})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := live.Patch(w.t.Context(), w.get(), client.RawPatch("application/merge-patch+json", raw)); err != nil {
		w.t.Fatal(err)
	}
}

// record stores the template that the workload has as a revision.
func (w *workload) record(hash string, number int64) {
	w.t.Helper()
	o := w.get()
	tree := o.Object["spec"].(map[string]any)["template"].(map[string]any)
	tree["$patch"] = "replace"
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": tree}})
	if err != nil {
		w.t.Fatal(err)
	}
	r := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.name + "-" + hash, Labels: map[string]string{"app": w.name}, OwnerReferences: w.owned(o)},
		Data:       runtime.RawExtension{Raw: raw}, Revision: number,
	}
	if err := live.Create(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workload) owned(o *unstructured.Unstructured) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: w.kind.apiVersion, Kind: w.kind.kind, Name: w.name, UID: o.GetUID(), Controller: ptr.To(true)}}
}

// ordinals are those of the pods: from 3 on, or without 1, as the specs say.
var ordinals = map[string][]int{"statefulset": {3, 4, 5, 6, 7}, "advanced": {0, 2, 3, 4, 5}, "daemonset": {0, 1, 2, 3, 4}}

// pod makes the pod at a position, of a revision, in the place of what is there.
func (w *workload) pod(position int, hash string) {
	w.t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s-%d", w.name, ordinals[w.name][position]), OwnerReferences: w.owned(w.get()),
			Labels: map[string]string{"app": w.name, "controller-revision-hash": w.name + "-" + hash},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.test/app:v1"}}},
	}
	if err := client.IgnoreNotFound(live.Delete(w.t.Context(), p, client.GracePeriodSeconds(0))); err != nil {
		w.t.Fatal(err)
	}
	if err := live.Create(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute))}}
	if err := live.Status().Update(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

// replace has two pods made anew of a revision: the upper ones; of a DaemonSet, those that were deleted.
func (w *workload) replace(hash string) {
	w.t.Helper()
	positions := []int{4, 3}
	if w.kind.kind == "DaemonSet" {
		positions = nil
		for i, n := range ordinals[w.name] {
			key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("%s-%d", w.name, n)}
			if err := live.Get(w.t.Context(), key, &corev1.Pod{}); apierrors.IsNotFound(err) {
				positions = append(positions, i)
			}
		}
		expect(w.t, "deleted pods", len(positions), 2)
	}
	for _, i := range positions {
		w.pod(i, hash)
	}
}

// settle writes the status that its own controller would, with so many pods on the newest revision.
func (w *workload) settle(current, update string, updated int) {
	w.t.Helper()
	o := w.get()
	status := map[string]any{
		"observedGeneration": o.GetGeneration(), "replicas": 5, "readyReplicas": 5, "availableReplicas": 5, "updatedReplicas": updated,
	}
	switch w.kind.kind {
	case "Deployment":
	case "DaemonSet":
		status = map[string]any{
			"observedGeneration": o.GetGeneration(), "desiredNumberScheduled": 5, "currentNumberScheduled": 5, "numberMisscheduled": 0, "numberReady": 5, "numberAvailable": 5,
		}
	default:
		status["updatedAvailableReplicas"], status["updatedReadyReplicas"], status["currentReplicas"] = updated, updated, 5-updated
		status["currentRevision"], status["updateRevision"] = w.name+"-"+current, w.name+"-"+update
	}
	raw, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := live.Status().Patch(w.t.Context(), o, client.RawPatch("application/merge-patch+json", raw)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workload) observe(ask adapter.Ask) adapter.Seen {
	w.t.Helper()
	known, err := adapter.NewRegistry()
	if err != nil {
		w.t.Fatal(err)
	}
	a := &adapter.Adapters{Live: live, Mapper: live.RESTMapper(), Registry: known}
	seen, err := a.Observe(w.t.Context(), namespace, rolloutv1alpha1.WorkloadReference{APIVersion: w.kind.apiVersion, Kind: w.kind.kind, Name: w.name}, holder, ask, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	if seen.Workload.Unfit != "" || !seen.Workload.Found {
		w.t.Fatalf("it cannot be driven: %+v", seen.Workload)
	}
	return seen
}

// act observes, takes the steps of an action, and tells what has become of the workload.
func (w *workload) act(a engine.Action) engine.Workload {
	w.t.Helper()
	steps, err := adapter.Steps(w.observe(adapter.Ask{Before: true}), holder, a)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.take(steps); err != nil {
		w.t.Fatal(err)
	}
	return w.observe(adapter.Ask{Before: true}).Workload
}

// take executes steps as a controller does.
func (w *workload) take(steps []step.Step) error {
	var failed []error
	for _, o := range writer.Steps(w.t.Context(), holder.UID, steps) {
		failed = append(failed, o.Err)
	}
	return errors.Join(failed...)
}

// in is the number that stands in the spec, as text; "" for none.
func in(o *unstructured.Unstructured, dotted string) string {
	value, found, err := unstructured.NestedFieldNoCopy(o.Object, strings.Split(dotted, ".")...)
	if err != nil || !found {
		return ""
	}
	return fmt.Sprint(value)
}
