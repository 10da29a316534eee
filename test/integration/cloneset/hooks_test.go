// SPDX-License-Identifier: Apache-2.0

package cloneset_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/integration/plane"
)

// No admission webhook runs at this server: nobody else adds gates or variables to pods.
func TestHooksAndBatchesNeedNoWebhook(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.CloneSet("web").Replicas(1).InPlace().With(func(s *kruisev1alpha1.CloneSet) {
		s.Spec.Lifecycle = &kruisev1alpha1.Lifecycle{InPlaceUpdate: &kruisev1alpha1.LifecycleHook{LabelsHandler: map[string]string{"hold": "yes"}, MarkPodNotReady: true}}
		s.Spec.Template.Labels["hold"] = "yes"
		priority := func(n string) []corev1.EnvVar {
			return []corev1.EnvVar{{Name: kruisev1alpha1.EnvContainerLaunchPriority, Value: n}}
		}
		s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1", Env: priority("1")}, {Name: "proxy", Image: "proxy:1", Env: priority("2")}}
	}))
	reaches := func(what string, available int32, state kruisev1alpha1.LifecycleState, marked corev1.ConditionStatus, images ...string) {
		t.Helper()
		plane.Until(t, what, func() (bool, any) {
			work(t, ns)
			pods := podsOf(t, ns)
			if len(pods) != 1 {
				return false, pods
			}
			p := &pods[0]
			c := pod.Condition(p, kruisev1alpha1.ConditionKruisePodReady)
			run := []string{p.Spec.Containers[0].Image, p.Spec.Containers[1].Image}
			seen := []any{get(t, ns, "web").Status.AvailableReplicas, pod.Lifecycle(p), c, run}
			return seen[0] == available && seen[1] == state && c != nil && c.Status == marked && cmp.Equal(run, images), seen
		})
	}
	reaches("an available pod", 1, kruisev1alpha1.LifecycleNormal, corev1.ConditionTrue, "web:1", "proxy:1")

	change := `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"web:2"},{"op":"replace","path":"/spec/template/spec/containers/1/image","value":"proxy:2"}]`
	if err := live.Patch(t.Context(), get(t, ns, "web"), client.RawPatch(types.JSONPatchType, []byte(change))); err != nil {
		t.Fatal(err)
	}
	reaches("a pod that is held and out of service", 0, kruisev1alpha1.LifecyclePreparingUpdate, corev1.ConditionFalse, "web:1", "proxy:1")
	label := func(value string) {
		t.Helper()
		if err := live.Patch(t.Context(), &podsOf(t, ns)[0], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"hold":`+value+`}}}`))); err != nil {
			t.Fatal(err)
		}
	}
	label("null")
	reaches("an updated pod that waits for its hook", 0, kruisev1alpha1.LifecycleUpdated, corev1.ConditionTrue, "web:2", "proxy:2")
	label(`"yes"`)
	reaches("an available pod again", 1, kruisev1alpha1.LifecycleNormal, corev1.ConditionTrue, "web:2", "proxy:2")

	var record struct {
		Batches []struct {
			Containers []string `json:"containers"`
		} `json:"containerBatchesRecord"`
	}
	if err := json.Unmarshal([]byte(podsOf(t, ns)[0].Annotations[kruisev1alpha1.AnnotationInPlaceState]), &record); err != nil {
		t.Fatal(err)
	}
	var batches [][]string
	for _, b := range record.Batches {
		batches = append(batches, b.Containers)
	}
	if diff := cmp.Diff([][]string{{"proxy"}, {"web"}}, batches); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}
