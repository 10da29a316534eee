// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/test/builders"
)

// ranked is a pod of its own node unless told otherwise, so that crowding
// does not decide by accident.
func ranked(name string) *builders.PodBuilder { return builders.Pod(name).Node("node-of-" + name) }

func build(all ...*builders.PodBuilder) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(all))
	for _, b := range all {
		pods = append(pods, b.Build())
	}
	return pods
}

func names(pods []*corev1.Pod) string {
	all := make([]string, 0, len(pods))
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return strings.Join(all, " ")
}

// Each row has two pods that differ in one criterion and, against it, in the
// next ones. "first" has to come first.
func TestOneCriterionDecides(t *testing.T) {
	first, second := func() *builders.PodBuilder { return ranked("first") }, func() *builders.PodBuilder { return ranked("second") }
	for name, test := range map[string]struct {
		first, second *builders.PodBuilder
		victims       bool // of scale-in
		updates       bool // of updates
	}{
		"not bound before bound": {
			first: first().Unscheduled("").Cost(9), second: second().Cost(-9).Waiting("ContainerCreating"), victims: true, updates: true,
		},
		"pending before unknown": {
			first: first().Waiting("ContainerCreating").Cost(9), second: second().NotReady().With(phase(corev1.PodUnknown)).Cost(-9), victims: true, updates: true,
		},
		"unknown before running": {
			first: first().With(phase(corev1.PodUnknown)).Cost(9), second: second().NotReady().Cost(-9), victims: true, updates: true,
		},
		"not available before available": {
			first: first().ReadySince(at(95)).Cost(9), second: second().ReadySince(at(0)).Cost(-9), victims: true,
		},
		"not ready before ready, both not available": {
			first: first().NotReady().Cost(9), second: second().ReadySince(at(95)).Cost(-9), victims: true, updates: true,
		},
		"lower cost first": {
			first: first().Cost(-1), second: second().ReadySince(at(80)).Restarts(5), victims: true,
		},
		"ready more recently first": {
			first: first().ReadySince(at(20)), second: second().ReadySince(at(10)).Restarts(5), victims: true, updates: true,
		},
		"more restarts first": {
			first: first().Restarts(2), second: second().Restarts(1).Created(at(50)), victims: true, updates: true,
		},
		"when not ready, recency does not count": {
			first:   first().NotReady().Condition(corev1.PodReady, corev1.ConditionFalse, "", at(1)).Restarts(1),
			second:  second().NotReady().Condition(corev1.PodReady, corev1.ConditionFalse, "", at(90)),
			victims: true, updates: true,
		},
		"younger first": {
			first: first().Created(at(50)), second: second().Created(at(40)), victims: true, updates: true,
		},
		"without creation time before all": {
			first: first().With(func(p *corev1.Pod) { p.CreationTimestamp = metav1.Time{} }), second: second().Created(at(40)), victims: true, updates: true,
		},
		"finally by name": {first: first(), second: second(), victims: true, updates: true},
		"cost means nothing for updates": {
			first: first().Cost(9).Restarts(1), second: second().Cost(-9), updates: true,
		},
		"being available means nothing for updates": {
			first: first().ReadySince(at(50)), second: second().ReadySince(at(40)).Lifecycle("PreparingUpdate"), updates: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, pods := range [][]*corev1.Pod{build(test.first, test.second), build(test.second, test.first)} {
				if got := names(pod.VictimOrder(pods, pod.Ranking{MinReadySeconds: 10, Now: at(100)})); test.victims && got != "first second" {
					t.Errorf("victims of %q: %s", names(pods), got)
				}
				if got := names(pod.UpdateOrder(pods)); test.updates && got != "first second" {
					t.Errorf("updates of %q: %s", names(pods), got)
				}
			}
		})
	}
}

func TestReadySinceAnUnknownTimeIsMostRecent(t *testing.T) {
	pods := build(ranked("late").ReadySince(at(99)), ranked("unset").ReadySince(time.Time{}))
	if got := names(pod.UpdateOrder(pods)); got != "unset late" {
		t.Errorf("updates: %s", got)
	}
}

func TestVictimsAreSpread(t *testing.T) {
	p := builders.Pod
	zone := corev1.TopologySpreadConstraint{TopologyKey: corev1.LabelTopologyZone}
	host := corev1.TopologySpreadConstraint{TopologyKey: corev1.LabelHostname}
	nodes := map[string]map[string]string{}
	for node, z := range map[string]string{"n1": "z1", "n2": "z1", "n3": "z2", "n4": "z3"} {
		nodes[node] = map[string]string{corev1.LabelTopologyZone: z, corev1.LabelHostname: node}
	}
	nodes["bare"] = nil
	for _, node := range []string{"h1", "h2", "h3"} {
		nodes[node] = map[string]string{corev1.LabelHostname: node}
	}
	for _, node := range []string{"twin1", "twin2"} {
		nodes[node] = map[string]string{corev1.LabelHostname: "twin"}
	}
	for _, node := range []string{"x1", "x2"} {
		nodes[node] = map[string]string{corev1.LabelTopologyZone: "x"}
	}

	for name, test := range map[string]struct {
		pods        []*corev1.Pod
		constraints []corev1.TopologySpreadConstraint
		want        string
	}{
		"without constraints the most crowded node gives first": {
			// On n1: a ranks 2, b 1, c 0; on n3: d 1, e 0.
			pods: build(p("a").Node("n1"), p("b").Node("n1"), p("c").Node("n1"), p("d").Node("n3"), p("e").Node("n3")),
			want: "a b d c e",
		},
		"a cost goes before crowding": {
			pods: build(p("a").Node("n1"), p("b").Node("n1"), p("c").Node("n3").Cost(-1)),
			want: "c a b",
		},
		"crowding goes before age": {
			pods: build(p("a").Node("n1"), p("b").Node("n1"), p("c").Node("n3").Created(at(50))),
			want: "a c b",
		},
		"on one node the younger has the higher rank": {
			pods: build(p("a").Node("n1"), p("b").Node("n1").Created(at(50)), p("c").Node("n3").Created(at(99))),
			want: "b c a",
		},
		"zones are evened out": {
			// Zone z1 has three, z2 two, z3 one.
			pods: build(p("a").Node("n1"), p("b").Node("n2"), p("c").Node("n2"), p("d").Node("n3"), p("e").Node("n3"), p("f").Node("n4")),
			// z1: b (its node is crowded) 3, a 2, c 1; z2: d 2, e 1; z3: f 1.
			constraints: []corev1.TopologySpreadConstraint{zone},
			want:        "b a d c e f",
		},
		"each host has its own rank": {
			pods:        build(p("a").Node("n1"), p("b").Node("n2"), p("c").Node("n2"), p("d").Node("n3")),
			constraints: []corev1.TopologySpreadConstraint{host},
			want:        "b a c d",
		},
		"by host name the rank on the node plays no part": {
			// Two nodes that both call themselves "twin".
			pods:        build(p("a").Node("twin1"), p("b").Node("twin2"), p("c").Node("twin2")),
			constraints: []corev1.TopologySpreadConstraint{host},
			want:        "a b c",
		},
		"two constraints add up": {
			// Zones (weight ln 4): z1 has b 3, a 2, c 1; z2 has d 1.
			// Hosts (weight ln 5): n1 has a 1; n2 has b 2, c 1; n3 has d 1.
			pods:        build(p("a").Node("n1"), p("b").Node("n2"), p("c").Node("n2"), p("d").Node("n3")),
			constraints: []corev1.TopologySpreadConstraint{zone, host},
			want:        "b a c d",
		},
		"what has more places weighs more": {
			// One zone (weight ln 3): a 2, b 1. Three hosts (weight ln 5): h1 has c 2, d 1; h2 has e 1; h3 has f 1.
			pods:        build(p("a").Node("x1"), p("b").Node("x2"), p("c").Node("h1"), p("d").Node("h1"), p("e").Node("h2"), p("f").Node("h3")),
			constraints: []corev1.TopologySpreadConstraint{zone, host},
			want:        "c a d e f b",
		},
		"nodes without the label, and unknown nodes, are not counted": {
			pods:        build(p("a").Node("bare"), p("b").Node("gone"), p("c").Node("n3")),
			constraints: []corev1.TopologySpreadConstraint{zone},
			want:        "c a b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ranking := pod.Ranking{Now: at(100), Constraints: test.constraints, NodeLabels: nodes}
			if got := names(pod.VictimOrder(test.pods, ranking)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestOrdersDoNotDependOnTheInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods, ranking := drawPods(t), drawRanking(t)
		shuffled := rapid.Permutation(pods).Draw(t, "shuffled")
		before := names(shuffled)

		if one, two := names(pod.VictimOrder(pods, ranking)), names(pod.VictimOrder(shuffled, ranking)); one != two {
			t.Errorf("victims: %s, or %s", one, two)
		}
		if one, two := names(pod.UpdateOrder(pods)), names(pod.UpdateOrder(shuffled)); one != two {
			t.Errorf("updates: %s, or %s", one, two)
		}
		if names(shuffled) != before {
			t.Error("the input was sorted itself")
		}
	})
}

func TestOrdersKeepEveryPodAndTheMainCriteria(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods, ranking := drawPods(t), drawRanking(t)
		victims, updates := pod.VictimOrder(pods, ranking), pod.UpdateOrder(pods)
		for _, order := range [][]*corev1.Pod{victims, updates} {
			got, want := strings.Fields(names(order)), strings.Fields(names(pods))
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("pods %v became %v", want, got)
			}
		}
		// Within a phase on nodes, nothing available is deleted before something that is not.
		serving := slices.DeleteFunc(victims, func(p *corev1.Pod) bool {
			return p.Spec.NodeName == "" || p.Status.Phase != corev1.PodRunning
		})
		sawAvailable := false
		for _, p := range serving {
			available := pod.IsAvailable(p, ranking.MinReadySeconds, ranking.Now)
			if sawAvailable && !available {
				t.Errorf("%s is not available, but ranks after an available pod", p.Name)
			}
			sawAvailable = sawAvailable || available
		}
	})
}

func TestStateAgreesWithTheFunctionsBesideIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranking := drawRanking(t)
		for _, p := range drawPods(t) {
			state := pod.StateOf(p, ranking.MinReadySeconds, ranking.Now)
			if !slices.Contains(pod.States(), state) {
				t.Fatalf("%s is in state %d, which is none", p.Name, state)
			}
			active := state != pod.Terminating && state != pod.Finished
			if active != pod.IsActive(p) {
				t.Errorf("%s is %v, IsActive = %v", p.Name, state, pod.IsActive(p))
			}
			if state == pod.Available && !pod.IsAvailable(p, ranking.MinReadySeconds, ranking.Now) {
				t.Errorf("%s is %v, but not available", p.Name, state)
			}
			quiet := state == pod.Available || state == pod.Ready
			if quiet != (pod.WaitingFor(p) == "") {
				t.Errorf("%s is %v and waits for %q", p.Name, state, pod.WaitingFor(p))
			}
		}
	})
}

// drawPods draws from few values per criterion, so that ties are common.
func drawPods(t *rapid.T) []*corev1.Pod {
	n := rapid.IntRange(0, 12).Draw(t, "pods")
	pods := make([]*corev1.Pod, 0, n)
	for i := range n {
		b := builders.Pod(fmt.Sprintf("p%02d", i)).Node(rapid.SampledFrom([]string{"n1", "n2", "n3", "n4"}).Draw(t, "node"))
		switch rapid.SampledFrom([]string{"ready", "ready", "ready", "not ready", "updating", "starting", "failing", "fresh", "unknown", "failed", "deleted", "held"}).Draw(t, "state") {
		case "ready":
			b.ReadySince(at(rapid.SampledFrom([]int{0, 0, 95, 100}).Draw(t, "since")))
		case "not ready":
			b.NotReady()
		case "updating":
			b.Updating()
		case "starting":
			b.Waiting("ContainerCreating")
		case "failing":
			b.Waiting("ErrImagePull")
		case "fresh":
			b.Fresh()
		case "unknown":
			b.With(phase(corev1.PodUnknown))
		case "failed":
			b.Failed("Evicted")
		case "deleted":
			b.Terminating(at(130))
		case "held":
			b.Lifecycle("PreparingDelete")
		}
		b.Cost(rapid.IntRange(-1, 1).Draw(t, "cost"))
		b.Restarts(rapid.Int32Range(0, 1).Draw(t, "restarts"))
		b.Created(at(rapid.IntRange(0, 1).Draw(t, "created")))
		pods = append(pods, b.Build())
	}
	return pods
}

func drawRanking(t *rapid.T) pod.Ranking {
	ranking := pod.Ranking{MinReadySeconds: rapid.Int32Range(0, 10).Draw(t, "minReadySeconds"), Now: at(100), NodeLabels: map[string]map[string]string{
		"n1": {corev1.LabelTopologyZone: "z1", corev1.LabelHostname: "n1"},
		"n2": {corev1.LabelTopologyZone: "z1", corev1.LabelHostname: "n2"},
		"n3": {corev1.LabelHostname: "n3"},
	}}
	for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{corev1.LabelTopologyZone, corev1.LabelHostname}), 0, 2).Draw(t, "constraints") {
		ranking.Constraints = append(ranking.Constraints, corev1.TopologySpreadConstraint{TopologyKey: key})
	}
	return ranking
}
