// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// The schema requires the counters; a set that never had a status has none of them stored.
func TestAStatusIsSentWhole(t *testing.T) {
	before, after := &kruisev1alpha1.CloneSet{}, &kruisev1alpha1.CloneSet{}
	before.UID, before.ResourceVersion = "u", "7"
	before.Status.UpdateRevision = "web-a"
	raw, err := statusPatch(before, after)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"metadata": map[string]any{"uid": "u", "resourceVersion": "7"},
		"status": map[string]any{
			"replicas": 0.0, "readyReplicas": 0.0, "availableReplicas": 0.0, "updatedReplicas": 0.0, "updatedReadyReplicas": 0.0,
			"updateRevision": nil,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

// An application repeats the status of its rollout, in which a source, or what has failed, comes and goes.
func TestWhatIsGoneWithinAMemberOfAStatusIsRemoved(t *testing.T) {
	before, after := &oamv1beta1.Application{}, &oamv1beta1.Application{}
	before.Status.Rollout = &oamv1beta1.AppRolloutStatus{LastTargetAppRevision: "shop-v2", LastSourceAppRevision: "shop-v1"}
	after.Status.Rollout = &oamv1beta1.AppRolloutStatus{LastTargetAppRevision: "shop-v3"}
	raw, err := statusPatch(before, after)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Status struct {
			Rollout map[string]any `json:"rollout"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if source, named := got.Status.Rollout["LastSourceAppRevision"]; !named || source != nil || got.Status.Rollout["lastTargetAppRevision"] != "shop-v3" {
		t.Errorf("the patch is %s", raw)
	}
}

func TestAnObjectWithoutAStatusIsRefused(t *testing.T) {
	const want = "*v1.ConfigMap has no status\n*v1.ConfigMap has no status"
	if _, err := statusPatch(&corev1.ConfigMap{}, &corev1.ConfigMap{}); err == nil || err.Error() != want {
		t.Errorf("got error %v, want %q", err, want)
	}
}
