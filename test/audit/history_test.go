// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func pod(name string, version int, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "demo", UID: types.UID("uid-" + name), ResourceVersion: strconv.Itoa(version),
			OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: ptr.To(true)}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0." + name,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)},
				{Type: "InPlaceUpdateReady", Status: corev1.ConditionTrue},
			},
		},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for i := range p.Status.Conditions {
			if p.Status.Conditions[i].Type == kind {
				p.Status.Conditions[i].Status = status
			}
		}
	}
}

func unready(p *corev1.Pod) { condition(corev1.PodReady, corev1.ConditionFalse)(p) }

func deleting(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(start)) }

func at(second int, p *corev1.Pod) Sighting {
	return See(p, start.Add(time.Duration(second)*time.Second), false)
}

func TestAvailable(t *testing.T) {
	for sentence, test := range map[string]struct {
		pod      *corev1.Pod
		minReady time.Duration
		want     bool
	}{
		"a running and ready pod is available": {pod: pod("a", 1), want: true},
		"an unready pod is not":                {pod: pod("a", 1, unready)},
		"a ready pod whose in-place gate is still off is not": {
			pod: pod("a", 1, condition("InPlaceUpdateReady", corev1.ConditionFalse))},
		"a pod without that gate is judged by Ready alone": {
			pod: pod("a", 1, func(p *corev1.Pod) { p.Status.Conditions = p.Status.Conditions[:1] }), want: true},
		"a pod without conditions is not": {pod: pod("a", 1, func(p *corev1.Pod) { p.Status.Conditions = nil })},
		"a pod that is being deleted is not": {
			pod: pod("a", 1, deleting)},
		"a pending pod is not": {pod: pod("a", 1, func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })},
		"a pod in another lifecycle state is not": {
			pod: pod("a", 1, func(p *corev1.Pod) { p.Labels = map[string]string{"lifecycle.apps.kruise.io/state": "Updating"} })},
		"a pod in state Normal is": {
			pod: pod("a", 1, func(p *corev1.Pod) { p.Labels = map[string]string{"lifecycle.apps.kruise.io/state": "Normal"} }), want: true},
		"ready for just the minimum is enough":   {pod: pod("a", 1), minReady: 10 * time.Second, want: true},
		"ready for less than the minimum is not": {pod: pod("a", 1), minReady: 11 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Available(test.pod, test.minReady, start.Add(10*time.Second)); got != test.want {
				t.Errorf("available = %t, want %t", got, test.want)
			}
		})
	}
}

func TestWorstMoment(t *testing.T) {
	for sentence, test := range map[string]struct {
		seen            []Sighting
		window          Window
		replicas        int
		want, wantMost  int
		wantAtVersion   uint64
		wantMomentCount int
	}{
		"one of two goes down and comes back": {
			seen:     []Sighting{at(0, pod("a", 1)), at(0, pod("b", 2)), at(1, pod("a", 3, unready)), at(2, pod("a", 4))},
			window:   Window{From: 2},
			replicas: 2, want: 1, wantAtVersion: 3, wantMost: 2, wantMomentCount: 3,
		},
		"what happened before the window does not count": {
			seen:     []Sighting{at(0, pod("a", 1)), at(0, pod("b", 2, unready)), at(1, pod("b", 3)), at(2, pod("a", 4))},
			window:   Window{From: 3},
			replicas: 2, want: 0, wantMost: 2, wantMomentCount: 2,
		},
		"what happens after the window does not count": {
			seen:     []Sighting{at(0, pod("a", 1)), at(0, pod("b", 2)), at(1, pod("b", 3, unready))},
			window:   Window{From: 2, To: 2},
			replicas: 2, want: 0, wantMost: 2, wantMomentCount: 1,
		},
		"how the window began counts": {
			seen:     []Sighting{at(0, pod("a", 1)), at(0, pod("b", 2, unready)), at(1, pod("b", 3))},
			window:   Window{From: 2},
			replicas: 2, want: 1, wantAtVersion: 2, wantMost: 2, wantMomentCount: 2,
		},
		"lines out of order are put in order by version": {
			seen:     []Sighting{at(0, pod("a", 1)), at(0, pod("b", 2)), at(1, pod("b", 6, unready)), at(1, pod("a", 3, unready)), at(1, pod("a", 5))},
			window:   Window{From: 2},
			replicas: 2, want: 1, wantAtVersion: 3, wantMost: 2, wantMomentCount: 4,
		},
		"a deleted pod is missing from then on": {
			seen:     []Sighting{at(0, pod("a", 1)), at(0, pod("b", 2)), at(1, pod("b", 3, deleting)), at(2, pod("a", 4, unready))},
			window:   Window{From: 2},
			replicas: 2, want: 2, wantAtVersion: 4, wantMost: 2, wantMomentCount: 3,
		},
		"a removal without the pod in the answer stands behind the line before it": {
			seen: []Sighting{at(0, pod("a", 1)), at(0, pod("b", 2)),
				{At: start, Namespace: "demo", Name: "b", Gone: true}, at(2, pod("a", 4, unready))},
			window:   Window{From: 1},
			replicas: 2, want: 2, wantAtVersion: 4, wantMost: 2, wantMomentCount: 4,
		},
		"pods above the replicas make up for those that are down": {
			seen:     []Sighting{at(0, pod("a", 1)), at(0, pod("b", 2)), at(1, pod("c", 3)), at(1, pod("a", 4, unready))},
			window:   Window{From: 2},
			replicas: 2, want: 0, wantMost: 3, wantMomentCount: 3,
		},
		"a pod of another owner is nothing to us": {
			seen: []Sighting{at(0, pod("a", 1)), at(0, pod("x", 2, func(p *corev1.Pod) { p.OwnerReferences = nil })),
				at(1, pod("x", 3, unready, func(p *corev1.Pod) { p.OwnerReferences = nil }))},
			window:   Window{From: 1},
			replicas: 1, want: 0, wantMost: 1, wantMomentCount: 1,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			moments := NewHistory("set", test.seen).Moments(test.window, 0)
			got, when := Worst(moments, test.replicas)
			if got != test.want || when.Version != test.wantAtVersion {
				t.Errorf("worst: %d unavailable at version %d, want %d at %d", got, when.Version, test.want, test.wantAtVersion)
			}
			if most := MostPods(moments); most != test.wantMost {
				t.Errorf("most pods %d, want %d", most, test.wantMost)
			}
			if len(moments) != test.wantMomentCount {
				t.Errorf("%d moments, want %d: %+v", len(moments), test.wantMomentCount, moments)
			}
		})
	}
}

func TestAtAndKept(t *testing.T) {
	restarted := func(p *corev1.Pod) { p.UID = "another" }
	moved := func(p *corev1.Pod) { p.Status.PodIP = "10.9.9.9" }
	h := NewHistory("set", []Sighting{
		at(0, pod("a", 1)), at(0, pod("b", 2)), at(0, pod("c", 3)), at(0, pod("d", 4)),
		at(1, pod("b", 5, restarted)), at(1, pod("c", 6, moved)), at(1, pod("d", 7, deleting)), at(1, pod("a", 8, unready)),
	})
	if got := len(h.At(4)); got != 4 {
		t.Errorf("%d pods at version 4, want 4", got)
	}
	if got := h.At(0); len(got) != 3 || got["d"] != nil {
		t.Errorf("pods at the end: %v, want a, b and c", got)
	}
	if diff := cmp.Diff([]string{"a"}, Kept(h.At(4), h.At(0))); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestKnows(t *testing.T) {
	h := NewHistory("set", []Sighting{at(0, pod("a", 5)), at(0, pod("b", 7))})
	for sentence, test := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"the same state is known":     {pod("a", 5), true},
		"so is what came before it":   {pod("a", 4), true},
		"a newer state is not":        {pod("a", 6), false},
		"neither is a pod never seen": {pod("c", 1), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := h.Knows(test.pod); got != test.want {
				t.Errorf("known %t, want %t", got, test.want)
			}
		})
	}
}

func TestEver(t *testing.T) {
	h := NewHistory("set", []Sighting{
		at(0, pod("a", 1, unready)), at(0, pod("b", 2)), at(0, pod("c", 3)),
		at(1, pod("a", 4)), at(1, pod("c", 5, unready)), at(1, pod("b", 6, unready)), at(1, pod("b", 7, unready)), at(1, pod("b", 8)),
	})
	down := func(p *corev1.Pod) bool { return !Available(p, 0, start) }
	for sentence, test := range map[string]struct {
		window Window
		want   []string
	}{
		"how the window began does not count": {Window{From: 3}, []string{"b", "c"}},
		"what came after it neither":          {Window{From: 3, To: 5}, []string{"c"}},
		"all of it":                           {Window{}, []string{"a", "b", "c"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, h.Ever(test.window, down)); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSightingsOfAnImmediateRemoval(t *testing.T) {
	seen := Sightings([]Write{
		{Verb: "delete", Namespace: "demo", Name: "a", Code: 200, Pods: []corev1.Pod{*pod("a", 5)}},
		{Verb: "create", Subresource: "eviction", Namespace: "demo", Name: "b", Code: 201},
		{Verb: "create", Subresource: "eviction", Namespace: "demo", Name: "c", Code: 429},
		{Verb: "create", Subresource: "binding", Namespace: "demo", Name: "d", Code: 201},
	})
	var gone []string
	for _, s := range seen {
		if s.Gone {
			gone = append(gone, s.Name)
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, gone); diff != "" || len(seen) != 2 {
		t.Errorf("gone (-want +got), of %d sightings:\n%s", len(seen), diff)
	}
}

// The order of the lines in the log must not matter, since the API server writes them
// in the order in which requests end.
func TestHistoryDoesNotDependOnTheOrderOfLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var seen []Sighting
		states := rapid.IntRange(1, 30).Draw(t, "states")
		for version := 1; version <= states; version++ {
			name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "pod")
			change := rapid.SampledFrom([]func(*corev1.Pod){func(*corev1.Pod) {}, unready, deleting}).Draw(t, "change")
			seen = append(seen, at(0, pod(name, version, change)))
		}
		want := NewHistory("set", seen).Moments(Window{}, 0)
		got := NewHistory("set", rapid.Permutation(seen).Draw(t, "lines")).Moments(Window{}, 0)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("moments (-in order +shuffled):\n%s", diff)
		}
	})
}

// The log of four pods of a real API server: created, then updated in place, one removed at the end. Its lines
// are not in the order of the states.
func TestARealRelease(t *testing.T) {
	writes, _, err := ReadFile(filepath.Join("testdata", "release.log"), 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := Sightings(writes)
	owner := seen[0].Pod.OwnerReferences[0].UID
	h := NewHistory(owner, seen)
	release := Window{From: 390, To: 452} // the version of the set with the new image, and of the last pod's return
	moments := h.Moments(release, 0)
	if worst, at := Worst(moments, 4); worst != 3 || at.Version != 395 {
		t.Errorf("worst: %d unavailable at version %d, want 3 at 395", worst, at.Version)
	}
	if len(moments) != 29 || MostPods(moments) != 4 {
		t.Errorf("%d moments, most pods %d; want 29 and 4", len(moments), MostPods(moments))
	}
	want := []string{"web-26w5x", "web-6vngk", "web-7c5nl", "web-8sbpk"}
	if diff := cmp.Diff(want, Kept(h.At(release.From), h.At(release.To))); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if got := len(h.At(0)); got != 3 {
		t.Errorf("%d pods at the end, want 3: one was deleted", got)
	}
	tally := Count(slices.DeleteFunc(writes, func(w Write) bool { return !w.Accepted() }), "slipway-manager")
	for _, name := range want {
		if diff := cmp.Diff(map[Kind]int{{Verb: "create"}: 1, {Verb: "patch", Subresource: "status"}: 3, {Verb: "patch"}: 1}, tally[name]); diff != "" {
			t.Errorf("writes to %s (-want +got):\n%s", name, diff)
		}
	}
}
