// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/json"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// rollouts have workloads of every kind held, changed and let go.
func (w *work) rollouts(t *testing.T) {
	t.Helper()
	for _, kind := range []struct{ apiVersion, kind string }{
		{"apps/v1", "Deployment"}, {"apps/v1", "StatefulSet"}, {"apps.kruise.io/v1alpha1", "CloneSet"}, {"apps.kruise.io/v1beta1", "StatefulSet"},
		{"apps.cafe.cloud.alipay.com/v1alpha1", "InPlaceSet"}, {"apps.cafe.cloud.alipay.com/v1alpha1", "CafeDeployment"},
	} {
		w.scaled(t, kind.apiVersion, kind.kind)
	}
	w.daemons(t)
	w.unknown(t)
}

// scaled has an empty workload of a kind scaled to one pod, which never comes, and the rollout deleted in the middle.
func (w *work) scaled(t *testing.T, apiVersion, kind string) {
	t.Helper()
	labels := map[string]any{"app": "scaled"}
	spec := map[string]any{
		"replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": "registry.test/app:v1"}}},
		},
	}
	if kind == "StatefulSet" {
		spec["serviceName"] = "scaled"
	}
	if kind == "CafeDeployment" {
		spec["topology"] = map[string]any{"unitType": "None"}
	}
	workload := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "scaled"}, "spec": spec,
	}}
	w.create(t, workload)
	sees := func() { // who looks after the built-in kinds does not run here
		if apiVersion == "apps/v1" {
			w.sees(t, workload)
		}
	}
	sees()
	plan := rolloutv1alpha1.RolloutPlan{TargetSize: ptr.To[int32](1)}
	if kind == "Deployment" {
		plan.CanaryMetric = []rolloutv1alpha1.CanaryMetric{{
			Name: "any", Interval: &metav1.Duration{Duration: 1e9}, TemplateRef: rolloutv1alpha1.MetricTemplateReference{Name: "missing"},
			MetricsRange: &rolloutv1alpha1.MetricsExpectedRange{Min: ptr.To(intstr.FromInt32(1))},
		}}
	}
	rollout := w.rollout(t, apiVersion, kind, plan)
	eventually(t, kind+" is held and asked for one pod", func() error {
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(workload), workload); err != nil {
			return err
		}
		n, _, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas")
		if n != 1 || workload.GetLabels()[rolloutv1alpha1.LabelHeld] == "" {
			return fmt.Errorf("it is asked for %d pods, with the labels %v", n, workload.GetLabels())
		}
		return nil
	})
	if kind == "CloneSet" {
		w.marked(t, workload)
	}
	if kind == "Deployment" {
		sees()
		eventually(t, "the metric is asked for", func() error {
			if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(rollout), rollout); err != nil {
				return err
			}
			if m := rollout.Status.Metrics; len(m) == 0 || m[0].Message == "" {
				return fmt.Errorf("measured is %+v: %s", m, rollout.Status.Message)
			}
			return nil
		})
	}
	w.endsBy(t, rollout, workload)
}

// marked takes off a held workload what tells whose it is; it comes back, though nothing else happens.
func (w *work) marked(t *testing.T, workload *unstructured.Unstructured) {
	t.Helper()
	for what, patch := range map[string]string{
		"the label": `{"metadata":{"labels":null}}`, "the owner": `{"metadata":{"ownerReferences":null}}`,
		"both": `{"metadata":{"labels":null,"ownerReferences":null}}`,
	} {
		if err := w.c.Patch(t.Context(), workload, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
		eventually(t, what+" comes back", func() error {
			if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(workload), workload); err != nil {
				return err
			}
			if workload.GetLabels()[rolloutv1alpha1.LabelHeld] != "true" || len(workload.GetOwnerReferences()) != 1 {
				return fmt.Errorf("the labels are %v and the owners %v", workload.GetLabels(), workload.GetOwnerReferences())
			}
			return nil
		})
	}
}

// sees plays the controller of a built-in kind: all pods that are asked for are there, and ready.
func (w *work) sees(t *testing.T, workload *unstructured.Unstructured) {
	t.Helper()
	n, _, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas")
	status := map[string]any{"observedGeneration": workload.GetGeneration(), "replicas": n, "readyReplicas": n, "availableReplicas": n, "updatedReplicas": n}
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.c.Status().Patch(t.Context(), workload, client.RawPatch("application/merge-patch+json", body)); err != nil {
		t.Fatal(err)
	}
}

func (w *work) rollout(t *testing.T, apiVersion, kind string, plan rolloutv1alpha1.RolloutPlan) *rolloutv1alpha1.RolloutTrait {
	t.Helper()
	rollout := &rolloutv1alpha1.RolloutTrait{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "scaled-"},
		Spec: rolloutv1alpha1.RolloutTraitSpec{
			TargetRef: rolloutv1alpha1.WorkloadReference{APIVersion: apiVersion, Kind: kind, Name: "scaled"}, RolloutPlan: plan,
		},
	}
	w.create(t, rollout)
	return rollout
}

// endsBy deletes a rollout and waits until it is gone and has let go.
func (w *work) endsBy(t *testing.T, rollout *rolloutv1alpha1.RolloutTrait, workload client.Object) {
	t.Helper()
	if err := w.c.Delete(t.Context(), rollout); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the rollout is gone and has let go", func() error {
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(rollout), rollout); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("it is there: %s (%w)", rollout.Status.Message, err)
		}
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(workload), workload); err != nil {
			return err
		}
		if len(workload.GetOwnerReferences()) > 0 || workload.GetLabels()[rolloutv1alpha1.LabelHeld] != "" {
			return fmt.Errorf("%s is still held", workload.GetName())
		}
		return nil
	})
}

// daemons have a pod of a DaemonSet deleted that is of an older template.
func (w *work) daemons(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "daemons"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{NodeName: playedHere, Containers: []corev1.Container{{Name: "app", Image: "registry.test/app:v1"}}},
	}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "scaled"},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template, UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}},
	}
	w.create(t, set)
	owner := *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
	for number, image := range map[int64]string{1: "registry.test/app:v0", 2: "registry.test/app:v1"} {
		held := set.Spec.Template.DeepCopy() // as the server has defaulted it
		held.Spec.Containers[0].Image = image
		data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": held}})
		if err != nil {
			t.Fatal(err)
		}
		w.create(t, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("scaled-%d", number), Labels: labels, OwnerReferences: []metav1.OwnerReference{owner}},
			Data:       runtime.RawExtension{Raw: data}, Revision: number,
		})
	}
	old := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "daemons-old", Labels: map[string]string{"app": "daemons", "controller-revision-hash": "1"}, OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: template.Spec,
	}
	w.create(t, old)
	set.Status = appsv1.DaemonSetStatus{ObservedGeneration: set.Generation, DesiredNumberScheduled: 1, CurrentNumberScheduled: 1}
	if err := w.c.Status().Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	rollout := w.rollout(t, "apps/v1", "DaemonSet", rolloutv1alpha1.RolloutPlan{})
	eventually(t, "the old pod is deleted", func() error {
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		set.Status.ObservedGeneration = set.Generation // the claim is seen
		if err := w.c.Status().Update(t.Context(), set); err != nil {
			return err
		}
		pod := &corev1.Pod{}
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(old), pod); err == nil && pod.DeletionTimestamp == nil {
			return fmt.Errorf("it is there: %s", rollout.Status.Message)
		}
		return nil
	})
	w.endsBy(t, rollout, set)
}

// doubtful has the Deployment of before scaled back.
func (w *work) doubtful(t *testing.T) {
	t.Helper()
	workload := &unstructured.Unstructured{}
	workload.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err := w.c.Get(t.Context(), client.ObjectKey{Namespace: place, Name: "scaled"}, workload); err != nil {
		t.Fatal(err)
	}
	w.sees(t, workload)
	rollout := w.rollout(t, "apps/v1", "Deployment", rolloutv1alpha1.RolloutPlan{TargetSize: ptr.To[int32](0)})
	eventually(t, "it is scaled back", func() error {
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(workload), workload); err != nil {
			return err
		}
		if n, _, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas"); n != 0 {
			return fmt.Errorf("it is asked for %d pods", n)
		}
		return nil
	})
	w.endsBy(t, rollout, workload)
}

// unknown is a rollout of a kind that nobody has described: its definition is asked.
func (w *work) unknown(t *testing.T) {
	t.Helper()
	rollout := w.rollout(t, rolloutv1alpha1.GroupVersion.String(), rolloutv1alpha1.MetricTemplateKind, rolloutv1alpha1.RolloutPlan{TargetSize: ptr.To[int32](1)})
	eventually(t, "the rollout says what is missing", func() error {
		if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(rollout), rollout); err != nil {
			return err
		}
		if rollout.Status.WaitingFor != rolloutv1alpha1.WaitingForWorkload {
			return fmt.Errorf("it waits for %q: %s", rollout.Status.WaitingFor, rollout.Status.Message)
		}
		return nil
	})
}
