// SPDX-License-Identifier: Apache-2.0

package inplaceset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/integration/plane"
)

const v2 = "registry.test/app:v2"

func create(t *testing.T, ns string, b *builders.InPlaceSetBuilder) {
	t.Helper()
	set := b.With(func(s *cafev1alpha1.InPlaceSet) {
		s.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: s.Name, Annotations: s.Annotations}
	}).Build()
	if err := live.Create(t.Context(), set); err != nil {
		t.Fatalf("creating the InPlaceSet: %v", err)
	}
}

func edit(t *testing.T, ns, patch string) {
	t.Helper()
	if err := live.Patch(t.Context(), get(t, ns, "web"), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatalf("changing the set: %v", err)
	}
}

const imageV2 = `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"` + v2 + `"}]}}}}`

// waitForStatus lets nodes and components act until the status is as wanted.
func waitForStatus(t *testing.T, ns, what string, components []string, reached func(*cafev1alpha1.InPlaceSetStatus) bool) {
	t.Helper()
	plane.Until(t, what, func() (bool, any) {
		serve(t, ns)
		for _, component := range components {
			route(t, ns, component)
		}
		status := get(t, ns, "web").Status
		return reached(&status), status
	})
}

func available(n int32) func(*cafev1alpha1.InPlaceSetStatus) bool {
	return func(s *cafev1alpha1.InPlaceSetStatus) bool { return s.AvailableReplicas == n && s.Replicas == n }
}

func updated(n int32) func(*cafev1alpha1.InPlaceSetStatus) bool {
	return func(s *cafev1alpha1.InPlaceSetStatus) bool {
		return s.UpdatedAvailableReplicas == n && s.Replicas == n && s.CurrentRevision == s.UpdateRevision
	}
}

func uids(t *testing.T, ns string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, p := range podsOf(t, ns) {
		found[p.Name] = string(p.UID)
	}
	return found
}

func TestASetFromAClientThatSetsNoDefaultsWorks(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.InPlaceSet("web").With(func(s *cafev1alpha1.InPlaceSet) { s.Spec.DeployUnit = "CellA" }))
	waitForStatus(t, ns, "one pod", nil, available(1))

	p := podsOf(t, ns)[0]
	want := []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: cafev1alpha1.LabelCell, Operator: corev1.NodeSelectorOpIn, Values: []string{"CellA"}},
	}}}
	if diff := cmp.Diff(want, p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms); diff != "" {
		t.Errorf("terms of the node affinity (-want +got):\n%s", diff)
	}
	set := get(t, ns, "web")
	owner := metav1.GetControllerOf(&p)
	if owner == nil || owner.UID != set.UID || owner.APIVersion != "apps.cafe.cloud.alipay.com/v1alpha1" {
		t.Errorf("owner of the pod is %+v", owner)
	}
	if ready := condition(set, cafev1alpha1.ConditionReady); ready.Status != corev1.ConditionTrue || ready.ObservedGeneration != set.Generation {
		t.Errorf("condition Ready is %+v", ready)
	}
}

func TestASetThatIsOlderThanEveryDefaultWorks(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.InPlaceSet("web").Replicas(2))
	waitForStatus(t, ns, "two pods", nil, available(2))
	err := server.Store.Rewrite(t.Context(), "apps.cafe.cloud.alipay.com/inplacesets", ns, "web", func(object map[string]any) {
		spec := object["spec"].(map[string]any) //nolint:forcetypeassert // stored by us
		for _, member := range []string{"replicas", "strategy", "unitType", "revisionHistoryLimit", "minReadySeconds"} {
			delete(spec, member)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	waitForStatus(t, ns, "one pod, which is what no replicas mean", nil, available(1))
}

func TestPodsAreKeptInARelease(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.InPlaceSet("web").Replicas(3))
	waitForStatus(t, ns, "three pods", nil, available(3))
	before := uids(t, ns)
	edit(t, ns, imageV2)
	waitForStatus(t, ns, "the release", nil, updated(3))
	if diff := cmp.Diff(before, uids(t, ns)); diff != "" {
		t.Errorf("pods (-before +after):\n%s", diff)
	}
	for _, p := range podsOf(t, ns) {
		if p.Spec.Containers[0].Image != v2 || gateOf(&p) != corev1.ConditionTrue {
			t.Errorf("pod %s runs %s with gate %s", p.Name, p.Spec.Containers[0].Image, gateOf(&p))
		}
	}
}

// TestAnotherUnitTypeRecreates: no living pod can take another node affinity, whatever the server allows to be patched.
func TestAnotherUnitTypeRecreates(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.InPlaceSet("web").Replicas(1).With(func(s *cafev1alpha1.InPlaceSet) { s.Spec.DeployUnit = "a" }))
	waitForStatus(t, ns, "one pod", nil, available(1))
	before := podsOf(t, ns)[0].UID
	edit(t, ns, `{"spec":{"unitType":"Zone"}}`)
	waitForStatus(t, ns, "its successor", nil, func(s *cafev1alpha1.InPlaceSetStatus) bool {
		pods := podsOf(t, ns)
		return updated(1)(s) && len(pods) == 1 && pods[0].UID != before
	})
}

func TestTrafficLeavesBeforeAChangeAndComesBack(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.InPlaceSet("web").Replicas(2).Traffic("lb", "rpc"))
	waitForStatus(t, ns, "pods that are ready and not released", nil, func(s *cafev1alpha1.InPlaceSetStatus) bool {
		return s.ReadyReplicas == 2 && s.AvailableReplicas == 0
	})
	waitForStatus(t, ns, "pods that are taken on", []string{"lb", "rpc"}, available(2))

	edit(t, ns, imageV2)
	waitsFor := func(component string) {
		t.Helper()
		plane.Until(t, "the condition names "+component, func() (bool, any) {
			serve(t, ns)
			c := condition(get(t, ns, "web"), cafev1alpha1.ConditionWaitingForTraffic)
			return c.Status == corev1.ConditionTrue && strings.Contains(c.Message, component) && strings.Contains(c.Message, "let go"), c
		})
	}
	waitsFor("lb, rpc")
	route(t, ns, "lb")
	waitsFor("component rpc has")
	for _, p := range podsOf(t, ns) {
		if p.Spec.Containers[0].Image == v2 {
			t.Errorf("pod %s was changed before rpc let go of it", p.Name)
		}
	}
	waitForStatus(t, ns, "the release", []string{"lb", "rpc"}, updated(2))
	if c := condition(get(t, ns, "web"), cafev1alpha1.ConditionWaitingForTraffic); c.Status != corev1.ConditionFalse {
		t.Errorf("at the end, somebody is still waited for: %+v", c)
	}
}

func TestTrafficLeavesBeforeADeletion(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.InPlaceSet("web").Replicas(2).Traffic("lb"))
	waitForStatus(t, ns, "two pods", []string{"lb"}, available(2))

	edit(t, ns, `{"spec":{"replicas":1}}`)
	plane.Until(t, "a closed gate", func() (bool, any) {
		var seen []string
		closed := false
		for _, p := range podsOf(t, ns) {
			seen = append(seen, fmt.Sprintf("%s %s %v", p.Name, gateOf(&p), p.DeletionTimestamp))
			closed = closed || gateOf(&p) == corev1.ConditionFalse && p.DeletionTimestamp == nil
		}
		return closed && len(seen) == 2, seen
	})
	waitForStatus(t, ns, "one pod", []string{"lb"}, func(s *cafev1alpha1.InPlaceSetStatus) bool { return available(1)(s) && len(podsOf(t, ns)) == 1 })
}

// TestAPodThatAPersonDeletesLosesItsTraffic: the server keeps it for its finalizer, and lb lets go only when the gate closes.
func TestAPodThatAPersonDeletesLosesItsTraffic(t *testing.T) {
	ns := namespace(t)
	create(t, ns, builders.InPlaceSet("web").Replicas(1).Traffic("lb"))
	waitForStatus(t, ns, "one pod", []string{"lb"}, available(1))
	doomed := podsOf(t, ns)[0]
	if err := live.Delete(t.Context(), &doomed, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	plane.Until(t, "the gate of the deleted pod closes", func() (bool, any) {
		p := &corev1.Pod{}
		if err := live.Get(t.Context(), client.ObjectKeyFromObject(&doomed), p); err != nil {
			return false, err
		}
		return p.UID == doomed.UID && p.DeletionTimestamp != nil && gateOf(p) == corev1.ConditionFalse, p.Status.Conditions
	})
	waitForStatus(t, ns, "its successor alone", []string{"lb"}, func(s *cafev1alpha1.InPlaceSetStatus) bool {
		pods := podsOf(t, ns)
		return available(1)(s) && len(pods) == 1 && pods[0].UID != doomed.UID
	})
}
