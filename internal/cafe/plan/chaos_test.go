// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
)

// judge watches what the controller does. Its rules are about the true world, not about what the plan says of it.
type judge struct {
	c *cells
	// answers are confirmations that were given while the question was open, since the groups were last cut.
	answers, begun int
	// moves are when quota last came to a unit.
	arrived map[string]time.Time
	broken  []string
}

func (j *judge) fault(format string, args ...any) {
	j.broken = append(j.broken, fmt.Sprintf(format, args...))
}

// after judges a pass: the statuses before and after it, and what was asked for.
func (j *judge) after(before *cafev1alpha1.CafeDeploymentStatus, next plan.Plan) {
	now := &j.c.d.Status
	j.groups(before, now)
	j.moves(before, now)
	if len(next.Asks) > 0 && !cmp.Equal(now.Groups, before.Groups) {
		j.fault("pod sets are asked in the pass that decides on groups")
	}
	for _, a := range next.Asks {
		if a.Replicas < 0 || a.Partition < 0 || a.Partition > a.Replicas {
			j.fault("%s is asked for %d pods and to keep %d", a.Set, a.Replicas, a.Partition)
		}
	}
}

func (j *judge) groups(before, now *cafev1alpha1.CafeDeploymentStatus) {
	batch, partitioned := j.c.d.Spec.Strategy.BatchSize, j.c.d.Spec.Strategy.Partition != nil
	for i, g := range now.Groups {
		size := 0
		for _, q := range g.Units {
			size += int(q.Pods)
			if g.Kind == cafev1alpha1.BetaGroup && q.Pods != 1 {
				j.fault("Beta takes %d pods of %s", q.Pods, q.Name)
			}
		}
		began := now.CurrentGroup == int32(i+1) && (before.CurrentGroup != now.CurrentGroup)
		if began && g.Kind == cafev1alpha1.BatchGroup && batch != nil && size > int(*batch) && !partitioned {
			j.fault("group %d begins with %d pods, and batchSize is %d", i+1, size, *batch)
		}
		if began && i > 0 && !now.Groups[i-1].Done && !partitioned {
			j.fault("group %d begins before the end of the one before", i+1)
		}
	}
	switch {
	case now.CurrentGroup == 1 && before.CurrentGroup == 0, now.UpdateRevision != before.UpdateRevision, now.CurrentGroup == 0,
		!j.c.d.Spec.Strategy.NeedWaitingForConfirm, partitioned:
		j.answers, j.begun = 0, 0
	case now.CurrentGroup > before.CurrentGroup:
		if j.begun++; now.CurrentGroup != before.CurrentGroup+1 {
			j.fault("from group %d to %d at once", before.CurrentGroup, now.CurrentGroup)
		}
		if j.begun > j.answers {
			j.fault("%d groups have begun upon %d confirmations", j.begun, j.answers)
		}
	}
}

func (j *judge) moves(before, now *cafev1alpha1.CafeDeploymentStatus) {
	sum := int32(0)
	for _, u := range now.Units {
		sum += u.RescheduledIn - u.RescheduledOut
	}
	if sum != 0 {
		j.fault("%+d pods have been moved from nowhere", sum)
	}
	if now.RescheduledFor == "" || before.RescheduledFor != "" && before.RescheduledFor != now.RescheduledFor {
		clear(j.arrived)
		return
	}
	was := map[string]int32{}
	for _, u := range before.Units {
		was[u.Name] = u.RescheduledIn - u.RescheduledOut
	}
	for _, u := range now.Units {
		switch delta := u.RescheduledIn - u.RescheduledOut - was[u.Name]; {
		case delta > 0:
			j.arrived[u.Name] = j.c.now
			if _, fixed := j.c.d.Spec.Topology.UnitReplicas[u.Name]; fixed {
				j.fault("%s is fixed and gets %d pods", u.Name, delta)
			}
		case delta < 0:
			own := u.Short - max(0, was[u.Name]) // what has come is taken for what is short
			if since := j.c.now.Sub(j.arrived[u.Name]); since < 300*time.Second && -delta > max(0, own) {
				j.fault("%d pods of %s are short, and quota that came %s ago is moved again", u.Short, u.Name, since)
			}
		}
	}
}

// confirm has a person set the annotation. Only an answer to an open question counts.
func (j *judge) confirm() {
	if j.c.d.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed] == cafev1alpha1.ConfirmationAwaited {
		j.answers++
	}
	j.c.confirm()
}

// let judges how many pods may be under way: let go by the partitions and not yet available.
func (j *judge) let() {
	if j.c.versioned() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(j.c.sets)) {
		s := j.c.sets[name]
		if s.partition > s.asked {
			j.fault("%s keeps %d of %d", name, s.partition, s.asked)
		}
	}
}

// underWay judges how many pods are let go and not available yet on the version that works, once all were held.
func (j *judge) underWay() {
	batch := j.c.d.Spec.Strategy.BatchSize
	if j.c.versioned() || batch == nil || len(j.c.d.Status.Groups) == 0 || j.c.imageOf(j.c.d.Status.UpdateRevision) != "v9" {
		return
	}
	under, limit := 0, int(*batch)
	if j.c.d.Status.Groups[0].Kind == cafev1alpha1.BetaGroup {
		limit = max(limit, len(j.c.d.Spec.Topology.Values))
	}
	for _, s := range j.c.sets {
		if j.c.imageOf(s.revision) != "v9" {
			continue
		}
		ready := 0
		for _, p := range s.pods {
			if p.ready && p.version == s.revision {
				ready++
			}
		}
		under += max(0, s.asked-s.partition-ready)
	}
	if under > limit {
		j.fault("%d pods are under way, and a group has %d", under, limit)
	}
}

func drawTags(t *rapid.T) edit {
	return image(rapid.SampledFrom([]string{"v1", "v2", "v3", "v4-broken"}).Draw(t, "image"))
}

// edits are what people do to the spec.
func drawEdit(t *rapid.T) (string, edit) {
	switch rapid.IntRange(0, 10).Draw(t, "edit") {
	case 0, 1, 2:
		return "image", drawTags(t)
	case 3, 4:
		return "replicas", replicas(rapid.Int32Range(0, 14).Draw(t, "replicas"))
	case 5:
		return "units", units(drawUnitsOf(t)...)
	case 6:
		return "batch", by(rapid.Int32Range(0, 5).Draw(t, "batch"))
	case 7:
		on := rapid.Bool().Draw(t, "confirm")
		return "confirm", func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.NeedWaitingForConfirm = on }
	case 9:
		return "partition", kept(rapid.Int32Range(-1, 14).Draw(t, "partition"))
	case 8:
		on := rapid.Bool().Draw(t, "pause")
		return "pause", func(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.Pause = on }
	default:
		named := cafev1alpha1.UnitReplicas{}
		if rapid.Bool().Draw(t, "fix") {
			named["A"] = intstr.FromInt32(rapid.Int32Range(0, 6).Draw(t, "A"))
		}
		return "fixed", func(d *cafev1alpha1.CafeDeployment) { d.Spec.Topology.UnitReplicas = named }
	}
}

func drawUnitsOf(t *rapid.T) []string {
	all := rapid.Permutation([]string{"A", "B", "C", "D"}).Draw(t, "order")
	return append([]string{"A"}, slices.DeleteFunc(all[:rapid.IntRange(1, 4).Draw(t, "units")], func(u string) bool { return u == "A" })...)
}

// TestChaos plays people who confirm late, twice or never, crashes at any point of a pass, and cells that are full for a
// while. Nothing of it may break a rule, and when all of that ends, everything becomes as the spec wants it.
func TestChaos(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []cafev1alpha1.PodSetType{cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType, cafev1alpha1.StatefulSetPodSetType}
		changes := []edit{kind(rapid.SampledFrom(kinds).Draw(t, "kind")), by(rapid.Int32Range(0, 5).Draw(t, "batch"))}
		if rapid.Bool().Draw(t, "beta") {
			changes = append(changes, beta(rapid.Int32Range(0, 5).Draw(t, "batch")))
		}
		if rapid.Bool().Draw(t, "rescheduling") {
			changes = append(changes, rescheduling)
		}
		c := newCells(rapid.Int32Range(0, 12).Draw(t, "replicas"), drawUnitsOf(t), changes...)
		j := &judge{c: c, arrived: map[string]time.Time{}}
		defer func() {
			if t.Failed() {
				t.Logf("the story:\n%s", strings.Join(c.log[max(0, len(c.log)-80):], "\n"))
			}
		}()
		for range rapid.IntRange(1, 60).Draw(t, "moments") {
			switch rapid.IntRange(0, 15).Draw(t, "moment") {
			case 0:
				says, change := drawEdit(t)
				c.edit("edits "+says, change)
			case 1:
				j.confirm()
			case 2:
				unit := rapid.SampledFrom([]string{"A", "B", "C", "D"}).Draw(t, "cell")
				if delete(c.room, unit); rapid.Bool().Draw(t, "full") {
					c.room[unit] = rapid.IntRange(0, 4).Draw(t, "room")
				}
			case 3:
				c.now = c.now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second)
			case 4, 5:
				before := c.d.Status.DeepCopy()
				next := c.look(crash{asks: rapid.IntRange(0, 3).Draw(t, "asks"), silent: rapid.Bool().Draw(t, "silent")})
				j.after(before, next)
			case 6, 7, 8, 9:
				c.act()
			default:
				before := c.d.Status.DeepCopy()
				j.after(before, c.look(crash{asks: -1}))
				c.now = c.now.Add(time.Second)
			}
			j.let()
			if len(j.broken) > 0 {
				t.Fatalf("%s", strings.Join(j.broken, "; "))
			}
		}
		calm(t, c, j)
	})
}

// calm ends all trouble and looks at what becomes of it.
func calm(t *rapid.T, c *cells, j *judge) {
	clear(c.room)
	c.edit("wants a version that works, without questions", image("v9"), func(d *cafev1alpha1.CafeDeployment) {
		d.Spec.Strategy.NeedWaitingForConfirm, d.Spec.Strategy.Pause, d.Spec.Topology.UnitReplicas, d.Spec.Strategy.Partition = false, false, nil, nil
	})
	for n := 0; ; n++ {
		before := c.d.Status.DeepCopy()
		pictured := c.picture()
		next := c.look(crash{asks: -1})
		j.after(before, next)
		j.underWay()
		c.act()
		c.now = c.now.Add(time.Second)
		if len(j.broken) > 0 {
			t.Fatalf("%s", strings.Join(j.broken, "; "))
		}
		if len(next.Asks)+len(next.Steps) == 0 && pictured == c.picture() && equal(before, &c.d.Status) {
			break
		}
		if n > 400 {
			t.Fatal("it never comes to rest")
		}
	}
	want, err := plan.Split(int(*c.d.Spec.Replicas), c.d.Spec.Topology.Values, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range want {
		got, ready := 0, 0
		for _, set := range c.sets {
			if set.unit != s.Unit {
				continue
			}
			for _, p := range set.pods {
				got++
				if p.ready && c.imageOf(p.version) == "v9" {
					ready++
				}
			}
		}
		if got != s.Pods || ready != s.Pods {
			t.Errorf("%s has %d pods, %d of them ready on v9, and should have %d", s.Unit, got, ready, s.Pods)
		}
	}
	for name, set := range c.sets {
		if !slices.Contains(c.d.Spec.Topology.Values, set.unit) {
			t.Errorf("%s is still there", name)
		}
	}
	if c.d.Status.Phase != cafev1alpha1.StablePhase {
		t.Errorf("the phase is %s", c.d.Status.Phase)
	}
}

func TestTheSameWorldGivesTheSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCells(rapid.Int32Range(0, 12).Draw(t, "replicas"), drawUnitsOf(t), by(rapid.Int32Range(0, 4).Draw(t, "batch")), rescheduling)
		c.room["A"] = rapid.IntRange(0, 3).Draw(t, "room")
		for range rapid.IntRange(0, 30).Draw(t, "passes") {
			c.look(crash{asks: -1})
			c.act()
			c.now = c.now.Add(time.Second)
		}
		w := c.world()
		other := c.world()
		slices.Reverse(other.Units)
		for i := range other.Units {
			slices.Reverse(other.Units[i].Sets)
			slices.Reverse(other.Units[i].Unschedulable)
		}
		shown := cmp.Transformer("error", func(e error) string { return fmt.Sprint(e) })
		if diff := cmp.Diff(plan.Next(w, c.now), plan.Next(other, c.now), shown); diff != "" {
			t.Errorf("another order gives another plan:\n%s", diff)
		}
	})
}
