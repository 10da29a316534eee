// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/golden"
)

func intOf(n int32) intstr.IntOrString { return intstr.FromInt32(n) }

func equal(a, b *cafev1alpha1.CafeDeploymentStatus) bool { return equality.Semantic.DeepEqual(a, b) }

// moment is what a person does when everything has come to rest, or after some looks of the controller.
type moment struct {
	says     string
	edit     edit
	confirms bool
	room     map[string]int
	// after is how many passes go by before; 0 for as many as it takes.
	after int
}

// TestRelease tells whole releases. A change of a transcript is a change of behaviour: read the difference as a user would.
func TestRelease(t *testing.T) {
	ab := []string{"A", "B"}
	confirms := moment{confirms: true}
	releases := moment{says: "releases v2", edit: image("v2")}
	for name, c := range map[string]struct {
		cells   *cells
		moments []moment
	}{
		"beta-and-batches":        {newCells(10, ab, beta(4)), []moment{releases}},
		"uneven-start":            {newCells(10, ab, beta(4), fixing("A", 6)), []moment{releases}},
		"confirmed":               {newCells(10, ab, beta(4)), []moment{{says: "asks to be asked", edit: confirmed}, releases, confirms, confirms}},
		"creation-in-groups":      {newCells(10, ab, beta(4), confirmed), []moment{confirms, confirms}},
		"new-template-in-between": {newCells(10, ab, beta(4)), []moment{releases, {after: 7, says: "releases v3", edit: image("v3")}}},
		"back-in-between":         {newCells(10, ab, beta(4)), []moment{releases, {after: 7, says: "goes back", edit: image("v1")}}},
		"broken-and-its-fix":      {newCells(10, ab, beta(4)), []moment{{says: "releases a version that is broken", edit: image("v2-broken")}, {says: "releases the fix", edit: image("v3")}}},
		"broken-from-the-start":   {newCells(4, ab, beta(2), image("v1-broken")), []moment{{says: "releases the fix", edit: image("v2")}}},
		"more-replicas-in-between": {newCells(10, ab, beta(4), confirmed), []moment{
			confirms, confirms, releases, {says: "wants 14", edit: replicas(14)}, confirms, confirms, confirms,
		}},
		"fewer-replicas-in-between": {newCells(10, ab, beta(4), confirmed), []moment{
			confirms, confirms, releases, {says: "wants 6", edit: replicas(6)}, confirms,
		}},
		"a-scale-up-ends-at-a-new-number": {newCells(2, ab, by(2), confirmed), []moment{
			{says: "wants 10", edit: replicas(10)}, confirms, {says: "wants 6", edit: replicas(6)}, {says: "wants 1", edit: replicas(1)},
		}},
		"a-unit-more-in-between": {newCells(9, ab, by(3), confirmed), []moment{
			confirms, confirms, releases, {says: "opens cell C", edit: units("A", "B", "C")}, confirms, confirms, confirms,
		}},
		"a-unit-less-in-between": {newCells(9, []string{"A", "B", "C"}, by(3), confirmed), []moment{
			confirms, confirms, releases, {says: "closes cell B", edit: units("A", "C")}, confirms, confirms, confirms,
		}},
		"confirmation-turned-off": {newCells(6, ab, by(2), confirmed), []moment{
			{says: "does not want to be asked", edit: func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.NeedWaitingForConfirm = false }},
		}},
		"confirmed-too-early": {newCells(6, ab, by(2), confirmed), []moment{{confirms: true, after: 1}, confirms, confirms}},
		"paused": {newCells(6, ab, by(2)), []moment{
			{says: "pauses", edit: func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Pause = true }},
			releases,
			{says: "resumes", edit: func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Pause = false }},
		}},
		"an-impossible-split": {newCells(6, ab), []moment{
			{says: "fixes A to 7", edit: fixing("A", 7)}, {says: "fixes A to 2", edit: fixing("A", 2)},
		}},
		"a-full-cell": {newCells(9, []string{"A", "B", "C"}, rescheduling), []moment{
			{says: "wants 12, and A has room for 2", edit: replicas(12), room: map[string]int{"A": 2}},
			{says: "releases v2, and A has room again", edit: image("v2"), room: map[string]int{"A": 9}},
		}},
		"a-full-cell-from-the-start": {newCells(9, []string{"A", "B", "C"}, rescheduling, beta(3)), []moment{
			{says: "gives A room", room: map[string]int{"A": 9}},
		}},
		"all-cells-full": {newCells(6, ab, rescheduling), []moment{
			{says: "wants 8, and there is room for 7", edit: replicas(8), room: map[string]int{"A": 3, "B": 4}},
			{says: "gives B room", room: map[string]int{"A": 3, "B": 5}},
		}},
		"a-fixed-cell-is-full": {newCells(6, ab, rescheduling, fixing("A", 4)), []moment{
			{says: "wants 7 with 5 of them in A, and A has room for 4", edit: func(d *cafev1alpha1.CafeDeployment) { replicas(7)(d); fixing("A", 5)(d) }, room: map[string]int{"A": 4}},
			{says: "gives A room", room: map[string]int{"A": 5}},
		}},
		"replicasets":             {newCells(10, ab, beta(4), kind(cafev1alpha1.ReplicaSetPodSetType)), []moment{releases}},
		"replicasets-broken":      {newCells(6, ab, by(4), kind(cafev1alpha1.ReplicaSetPodSetType)), []moment{{says: "releases a version that is broken", edit: image("v2-broken")}, {says: "releases the fix", edit: image("v3")}}},
		"replicasets-back":        {newCells(6, ab, by(2), kind(cafev1alpha1.ReplicaSetPodSetType)), []moment{releases, {after: 4, says: "goes back", edit: image("v1")}}},
		"statefulsets":            {newCells(10, ab, beta(4), kind(cafev1alpha1.StatefulSetPodSetType)), []moment{releases}},
		"statefulsets-broken":     {newCells(6, ab, by(4), kind(cafev1alpha1.StatefulSetPodSetType)), []moment{{says: "releases a version that is broken", edit: image("v2-broken")}, {says: "releases the fix", edit: image("v3")}}},
		"statefulsets-back":       {newCells(10, ab, beta(4), kind(cafev1alpha1.StatefulSetPodSetType)), []moment{releases, {after: 7, says: "goes back", edit: image("v1")}}},
		"statefulsets-and-scaled": {newCells(6, ab, by(2), confirmed, kind(cafev1alpha1.StatefulSetPodSetType)), []moment{confirms, confirms, releases, {says: "wants 8", edit: replicas(8)}, confirms, confirms, confirms}},
		"a-partition": {newCells(10, ab, beta(4), confirmed, kept(10)), []moment{
			releases, {says: "lets 3 go", edit: kept(7)}, {says: "lets 2 more go", edit: kept(5)}, {says: "wants 12", edit: replicas(12)},
			{says: "lets all go", edit: kept(0)}, {says: "wants groups again", edit: kept(-1)},
		}},
		"a-partition-and-back": {newCells(10, ab, kept(10)), []moment{
			releases, {says: "lets 3 go", edit: kept(7)}, {says: "goes back, and keeps those 3", edit: func(d *cafev1alpha1.CafeDeployment) { image("v1")(d); kept(3)(d) }},
			{says: "takes 1 back", edit: kept(2)}, {says: "takes all back", edit: kept(-1)},
		}},
		"a-partition-and-broken": {newCells(6, ab, kept(6)), []moment{
			{says: "releases a version that is broken", edit: image("v2-broken")}, {says: "lets 2 go", edit: kept(4)},
			{says: "lets 1 more go, though they are not available", edit: kept(3)}, {says: "releases the fix, and lets those 3 go", edit: func(d *cafev1alpha1.CafeDeployment) { image("v3")(d); kept(3)(d) }},
		}},
		"a-partition-of-statefulsets": {newCells(10, ab, kind(cafev1alpha1.StatefulSetPodSetType), kept(10)), []moment{
			releases, {says: "lets 3 go", edit: kept(7)}, {says: "goes back, and keeps those 3", edit: func(d *cafev1alpha1.CafeDeployment) { image("v1")(d); kept(3)(d) }},
			{says: "takes 1 back", edit: kept(2)}, {says: "takes all back", edit: kept(-1)},
		}},
		"a-partition-of-replicasets": {newCells(6, ab, kind(cafev1alpha1.ReplicaSetPodSetType), kept(6)), []moment{
			releases, {says: "lets 2 go", edit: kept(4)}, {says: "wants groups again", edit: kept(-1)},
		}},
		"a-partition-in-between": {newCells(10, ab, by(4), confirmed), []moment{
			confirms, confirms, releases, {says: "keeps 5", edit: kept(5)}, {says: "wants groups again", edit: kept(-1)}, confirms,
		}},
		"no-units": {newCells(3, nil, by(2), func(d *cafev1alpha1.CafeDeployment) {
			d.Spec.Topology.UnitType = cafev1alpha1.NoneUnitType
		}), []moment{releases}},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.cells
			if name == "a-full-cell-from-the-start" {
				w.room["A"] = 1
			}
			w.say("person", "creates web: %d over %s", *w.d.Spec.Replicas, strings.Join(w.d.Spec.Topology.Values, ", "))
			for _, m := range c.moments {
				if m.after == 0 {
					w.settle(t)
				}
				for range m.after {
					w.look(crash{asks: -1})
					w.act()
				}
				for unit, n := range m.room {
					w.room[unit] = n
				}
				switch {
				case m.confirms:
					w.confirm()
				case m.edit != nil:
					w.edit(m.says, m.edit)
				default:
					w.say("person", "%s", m.says)
				}
			}
			w.settle(t)
			golden.Lines(t, name+".txt", w.log)
		})
	}
}
