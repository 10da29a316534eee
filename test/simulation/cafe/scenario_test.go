// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"testing"

	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/kube"
	"slipway.dev/slipway/test/simulation/world"
)

type (
	spec    = cafev1alpha1.CafeDeployment
	moments = []world.Moment[*spec]
)

// over is a deployment over two cells, in a Beta group and groups of four.
func over(replicas int32, changes ...func(*spec)) *spec {
	d := newDeployment(world.SetName, replicas, cafev1alpha1.InPlaceSetPodSetType, world.Release{App: "v1"}, "A", "B")
	d.Spec.Strategy.UpgradeType, d.Spec.Strategy.BatchSize = cafev1alpha1.BetaUpgradeType, ptr.To[int32](4)
	for _, change := range changes {
		change(d)
	}
	return d
}

func image(app string) func(*spec) {
	return func(d *spec) { release(d, world.Release{App: app}) }
}

func asked(d *spec) { d.Spec.Strategy.NeedWaitingForConfirm = true }

func rescheduling(d *spec) { d.Spec.Topology.AutoReschedule.Enable = true }

// confirms is what a person says to the question that stands.
func confirms() world.Moment[*spec] {
	return world.Moment[*spec]{Says: "confirms", Edit: func(d *spec) {
		d.Annotations = world.Merged(d.Annotations, confirmed, "true")
	}}
}

// crashes has the manager die after its next write but n.
func crashes(n int) func(*world.World) {
	return func(w *world.World) {
		for len(w.Manager.Queued()) == 0 {
			for _, kind := range api.Kinds() {
				w.Manager.Deliver(kind)
			}
		}
		if err := w.Manager.CrashAt(n); err != nil {
			w.Bench.Accuse(err)
		}
	}
}

// evict ends the pods of a cell, as a node does that goes out of order.
func evict(w *world.World, cell string, pods int) {
	s := &world.Story{World: w}
	for _, pod := range w.Pods() {
		if pod.Labels[unitLabel] == cell && pods > 0 {
			s.Evict(pod)
			pods--
		}
	}
}

// TestRelease tells whole releases. A change of a transcript is a change of behaviour: read the difference as a user would.
func TestRelease(t *testing.T) {
	for name, tell := range map[string]func(c *cells) world.Scenario[*spec]{
		"beta-and-groups-with-confirmations": func(*cells) world.Scenario[*spec] {
			return world.Scenario[*spec]{Set: over(10), Moments: moments{
				{Says: "wants to be asked, and releases v2", Edit: all(asked, image("v2"))}, confirms(), confirms(),
			}}
		},
		"a-cell-becomes-full": func(c *cells) world.Scenario[*spec] {
			return world.Scenario[*spec]{Set: over(6, rescheduling, func(d *spec) { d.Spec.Topology.Values = []string{"A", "B", "C"} }), Moments: moments{
				{Says: "cell A loses a pod, and has room for 1", World: func(w *world.World) {
					c.room["A"] = 1
					evict(w, "A", 1)
				}},
				{Says: "cell A has room again", World: func(*world.World) { delete(c.room, "A") }},
				{Says: "releases v2, which takes the quota home", Edit: image("v2")},
			}}
		},
		"a-full-cell-in-the-middle-of-a-release": func(c *cells) world.Scenario[*spec] {
			return world.Scenario[*spec]{Set: over(6, rescheduling), Moments: moments{
				{Says: "wants to be asked, and releases v2", Edit: all(asked, image("v2"))},
				{Says: "cell A loses a pod, and has room for 2", World: func(w *world.World) {
					c.room["A"] = 2
					evict(w, "A", 1)
				}},
				confirms(),
			}}
		},
		"a-crash-in-the-middle": func(*cells) world.Scenario[*spec] {
			return world.Scenario[*spec]{Set: over(6), Moments: moments{
				{Says: "releases v2", Edit: image("v2")},
				{After: 3, Says: "the manager dies after its next write, and starts again", World: crashes(0)},
				{After: 1, Says: "the manager dies after its next write, and starts again", World: crashes(0)},
			}}
		},
		"another-template-in-the-middle": func(*cells) world.Scenario[*spec] {
			return world.Scenario[*spec]{Set: over(6, asked), Moments: moments{
				confirms(), {Says: "releases v2", Edit: image("v2")}, {Says: "releases v3", Edit: image("v3")}, confirms(),
			}}
		},
		"going-back-in-the-middle": func(*cells) world.Scenario[*spec] {
			return world.Scenario[*spec]{Set: over(10, func(d *spec) { d.Spec.PodSetType = cafev1alpha1.CloneSetPodSetType }), Moments: moments{
				{Says: "releases v2, which never becomes ready", Edit: image("v2-broken")}, {Says: "goes back", Edit: image("v1")},
			}}
		},
		"replicasets": func(*cells) world.Scenario[*spec] {
			return world.Scenario[*spec]{Set: over(6, func(d *spec) { d.Spec.PodSetType = cafev1alpha1.ReplicaSetPodSetType }), Moments: moments{
				{Says: "releases v2", Edit: image("v2")},
			}}
		},
		"a-cell-is-closed": func(*cells) world.Scenario[*spec] {
			return world.Scenario[*spec]{Set: over(6), Moments: moments{
				{Says: "opens cell C and closes B", Edit: func(d *spec) { d.Spec.Topology.Values = []string{"A", "C"} }},
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cells{}
			scenario := tell(c)
			builtIn := &kube.Controllers{}
			scenario.Before = func(w *world.World) {
				*c = *newCells(w, allUnits...)
				builtIn.World = w
				w.Wakes = builtIn.Wakes
			}
			scenario.Besides = builtIn.Step
			got, err := world.Tell(kind{}, scenario)
			if err != nil {
				t.Errorf("%v\n%s", err, got)
			}
			world.CompareGolden(t, name, got)
		})
	}
}

func all(changes ...func(*spec)) func(*spec) {
	return func(d *spec) {
		for _, change := range changes {
			change(d)
		}
	}
}
