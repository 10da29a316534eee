// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/rollout/engine"
)

// sizes are batches that add up for some number of pods, and often for this one.
func sizes(t *rapid.T, total int) []any {
	var all []any
	for left := total; left > 1 && len(all) < 5 && rapid.Bool().Draw(t, "another batch"); {
		if rapid.Bool().Draw(t, "as a number") {
			n := rapid.IntRange(0, left-1).Draw(t, "pods")
			all, left = append(all, n), left-n
			continue
		}
		percent := rapid.IntRange(0, 60).Draw(t, "percent")
		all, left = append(all, fmt.Sprint(percent, "%")), left-(percent*total+99)/100
	}
	return append(all, nil)
}

// agrees checks the batches that were foreseen against the engine's own arithmetic, and that each pod is taken once.
func agrees(t *rapid.T, o *Outlook, plan *rolloutv1alpha1.RolloutPlan, total int) {
	batches := engine.Batches(plan, total)
	if err := engine.CheckBatches(batches, total); err != nil {
		refused := Refused
		if o.Kind == oamv1beta1.AppRolloutKind { // its objects were applied by then
			refused = Fails
		}
		if o.Ending != refused || o.Message != err.Error() {
			t.Fatalf("it ends with %s: %s; the engine says %v", o.Ending, o.Message, err)
		}
		return
	}
	if o.Ending != Succeeds {
		t.Fatalf("it %s: %s", o.Ending, o.Message)
	}
	var goals, done []int
	for _, b := range o.Batches {
		goals, done = append(goals, b.Goal), append(done, b.Done)
	}
	want := engine.Goals(batches, total)
	if diff := cmp.Diff(want, goals); diff != "" {
		t.Fatalf("goals (-engine +foreseen):\n%s", diff)
	}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Fatalf("pods that are done (-engine +foreseen):\n%s", diff)
	}
}

func TestBatchesAreThoseOfTheEngine(t *testing.T) {
	kinds := [][2]string{{kruise, "CloneSet"}, {kruise2, "StatefulSet"}, {"apps/v1", "StatefulSet"}, {"apps/v1", "DaemonSet"}, {cafe, "InPlaceSet"}, {cafe, "CafeDeployment"}}
	rapid.Check(t, func(rt *rapid.T) {
		kind, total := rapid.SampledFrom(kinds).Draw(rt, "kind"), rapid.IntRange(1, 9).Draw(rt, "total")
		s := &scene{t: t}
		w := s.workload(kind[0], kind[1], "web", total, nil)
		s.newer(w, paused[kind[0]+" "+kind[1]])
		if kind == [2]string{"apps/v1", "StatefulSet"} {
			put(t, w, fields{"spec.updateStrategy.rollingUpdate.partition": int64(total)})
		}
		r := rollout(w, sizes(rt, total)...)
		o := s.foresee(r, nil)
		agrees(rt, o, &r.Spec.RolloutPlan, total)
		if o.Ending != Succeeds || kind[1] == "CafeDeployment" {
			return
		}
		var taken []string
		before := 0
		for _, b := range o.Batches {
			if got := len(b.Part.Pods()); got != b.Goal-before {
				rt.Fatalf("batch %d takes %d pods, want %d", b.Number, got, b.Goal-before)
			}
			taken, before = append(taken, b.Part.Pods()...), b.Goal
		}
		slices.Sort(taken)
		if len(slices.Compact(taken)) != total {
			rt.Fatalf("pods that are taken: %v", taken)
		}
	})
}

func TestBatchesOfScalesAndPairsAreThoseOfTheEngine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &scene{t: t}
		from := rapid.IntRange(0, 8).Draw(rt, "from")
		if rapid.Bool().Draw(rt, "pair") {
			older, newer := s.workload("apps/v1", "Deployment", "web-v1", from, nil), s.workload("apps/v1", "Deployment", "web-v2", 0, nil)
			r := rollout(newer, sizes(rt, from)...)
			r.Spec.SourceRef = []rolloutv1alpha1.WorkloadReference{ref(older)}
			r.Spec.RolloutPlan.RolloutStrategy = rapid.SampledFrom([]rolloutv1alpha1.RolloutStrategyType{"", rolloutv1alpha1.IncreaseFirst, rolloutv1alpha1.DecreaseFirst}).Draw(rt, "strategy")
			if o := s.foresee(r, nil); from > 0 {
				agrees(rt, o, &r.Spec.RolloutPlan, from)
				if o.End.Total != from {
					rt.Fatalf("in the end there are %d pods", o.End.Total)
				}
			}
			return
		}
		to := rapid.IntRange(0, 8).Draw(rt, "to")
		kind := rapid.SampledFrom([][2]string{{"apps/v1", "Deployment"}, {kruise, "CloneSet"}, {kruise2, "StatefulSet"}, {"apps/v1", "StatefulSet"}}).Draw(rt, "kind")
		var w *unstructured.Unstructured
		if w = s.workload(kind[0], kind[1], "web", from, nil); from == to {
			return
		}
		total := max(from-to, to-from)
		r := plan(rollout(w, sizes(rt, total)...), size(int32(to)))
		o := s.foresee(r, nil)
		agrees(rt, o, &r.Spec.RolloutPlan, total)
		if o.Ending == Succeeds && (o.End.Total != to || o.End.Available != to) {
			rt.Fatalf("in the end there are %+v", o.End)
		}
	})
}

func TestBatchesBetweenRevisionsAreThoseOfTheEngine(t *testing.T) {
	kinds := [][2]string{{kruise, "CloneSet"}, {kruise2, "StatefulSet"}, {"apps/v1", "StatefulSet"}, {"apps/v1", "DaemonSet"}, {cafe, "InPlaceSet"}, {cafe, "CafeDeployment"}, {"apps/v1", "Deployment"}}
	rapid.Check(t, func(rt *rapid.T) {
		kind, total := rapid.SampledFrom(kinds).Draw(rt, "kind"), rapid.IntRange(1, 9).Draw(rt, "total")
		s := &scene{t: t}
		v1, v2 := component{"cart", 1, renderedSet(t, kind[0], kind[1], "v1", nil), nil}, component{"cart", 2, renderedSet(t, kind[0], kind[1], "v2", nil), nil}
		s.appRevision(1, v1)
		s.appRevision(2, v2)
		name := "cart"
		if kind[1] == "Deployment" {
			name = rapid.SampledFrom([]string{"cart", "cart-v1"}).Draw(rt, "deployed without a plan, or with one")
		}
		deployed(s.workload(kind[0], kind[1], name, total, opened[kind[0]+" "+kind[1]]), 1, v1)
		r := between("shop-v2", "shop-v1", sizes(rt, total)...)
		o := s.foresee(r, nil)
		agrees(rt, o, &r.Spec.RolloutPlan, total)
		if len(o.Before.Pods()) > 0 || o.Start.Available != total || o.End.Available != total || o.End.Total != total {
			rt.Fatalf("pods move before the batches: %v, or not all are there: %+v, then %+v", o.Before.Pods(), o.Start, o.End)
		}
		if least := total - largest(o); o.Least < least {
			rt.Fatalf("%d are available, and no batch takes more than leaves %d", o.Least, least)
		}
	})
}

// largest is how many pods the largest batch takes.
func largest(o *Outlook) int {
	most := 0
	for _, b := range o.Batches {
		most = max(most, b.Pods)
	}
	return most
}
