// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// judge keeps books of each deployment, from the history of the API alone, and compares each write of the manager with them.
type judge struct {
	*world.World
	*world.Clerk
	view *api.Cache
	// saw are the versions of each deployment that the running pass may act on.
	saw   map[types.UID][]*cafev1alpha1.CafeDeployment
	books map[types.UID]*book
	past  world.Past
	// gentle: nobody but the manager takes pods out of service.
	gentle bool
	// old: some process has begun with an old view, in which the controllers of the pod sets may take pods away by specs of before.
	old bool
}

func newJudge(w *world.World) *judge {
	j := &judge{World: w, books: map[types.UID]*book{}}
	j.Clerk = world.NewClerk(w, j.write)
	j.Gist = gist
	return j
}

// Begin starts a pass of one of the controllers, which looks at view.
func (j *judge) Begin(view *api.Cache) {
	j.view, j.saw = view, map[types.UID][]*cafev1alpha1.CafeDeployment{}
	j.Look()
	for _, o := range view.All(api.CafeDeployments) {
		j.saw[o.GetUID()] = append(j.saw[o.GetUID()], typed(o))
	}
	j.observe()
}

func (j *judge) Read(o client.Object) {
	if d := typed(o); d != nil {
		j.saw[d.UID] = append(j.saw[d.UID], d)
	}
}

// Reborn notes that the next process begins with an old view. Until that has caught up, it may count as its view shows, and only what one
// conditional write shows is held against it.
func (j *judge) Reborn() { j.past, j.old = world.PastOf(j.Server), true }

// Look judges the writes since the last look.
func (j *judge) Look() {
	j.Clerk.Look()
	if j.view != nil {
		j.observe()
	}
}

// gist is what a deployment or a pod set says, in a few words; empty for others.
func gist(o client.Object) string {
	if slices.Contains(setKinds, api.KindOf(o)) {
		s := setOf(o)
		return fmt.Sprintf(": %d of %q, %d kept", s.replicas, s.release, s.kept)
	}
	d := typed(o)
	if d == nil {
		return ""
	}
	text := fmt.Sprintf(": %s, group %d of", d.Status.Phase, d.Status.CurrentGroup)
	for _, g := range d.Status.Groups {
		text += " [" + string(g.Kind)
		for _, q := range g.Units {
			text += fmt.Sprintf(" %s%d(%d)", q.Name, q.Pods, q.New)
		}
		text += "]"
	}
	for _, u := range d.Status.Units {
		text += fmt.Sprintf(" %s=%d%+d", u.Name, u.Desired, u.RescheduledIn-u.RescheduledOut)
	}
	return text + " " + d.Annotations[confirmed]
}

// write judges a write and enters it into the books.
func (j *judge) write(w api.Write) error {
	if w.Kind == api.CafeDeployments {
		return j.deploymentWrite(w)
	}
	if w.Actor != world.Actor || !slices.Contains(setKinds, w.Kind) || w.Subresource == api.Status {
		return nil
	}
	owner := metav1.GetControllerOfNoCopy(w.After)
	if owner == nil {
		return fmt.Errorf("the manager writes a pod set that belongs to nobody")
	}
	return j.anyVersion(owner.UID, func(m *moment) error { return m.asks(w) })
}

// anyVersion is content when what was done is right for one of the versions of the deployment that the manager may have acted on.
func (j *judge) anyVersion(uid types.UID, judged func(*moment) error) error {
	err := fmt.Errorf("the manager writes for a deployment that it does not see")
	for _, d := range j.saw[uid] {
		stored := typed(j.Server.Get(api.CafeDeployments, client.ObjectKeyFromObject(d)))
		if stored == nil || stored.UID != uid {
			return nil // what is done for a deployment that is gone is collected with it
		}
		m := &moment{judge: j, book: j.bookOf(uid), spec: d, stored: stored, behind: j.past.IsAheadOf(j.Server, j.view)}
		if err = judged(m); err == nil {
			return nil
		}
	}
	return err
}

func (j *judge) deploymentWrite(w api.Write) error {
	after := typed(w.After)
	b := j.bookOf(after.UID)
	before := typed(w.Before)
	if before == nil || w.Verb != api.Update {
		return nil
	}
	var err error
	switch {
	case w.Actor != world.Actor:
		b.answers(before.Annotations, after.Annotations)
		return nil
	case w.Subresource == api.Status:
		err = j.anyVersion(after.UID, func(m *moment) error { return m.reports(&before.Status, &after.Status) })
		b.enter(j, before, after)
	default:
		err = j.anyVersion(after.UID, func(m *moment) error { return m.annotates(before, after) })
		b.writes(before.Annotations, after.Annotations)
	}
	return err
}

func (j *judge) bookOf(uid types.UID) *book {
	if j.books[uid] == nil {
		j.books[uid] = newBook()
	}
	return j.books[uid]
}

func (j *judge) truth() reader { return j.Server.List }

// released is what the named revision of a deployment holds; false when there is no such revision.
func (j *judge) released(name string) (world.Release, bool) {
	r, is := j.Server.Get(api.Revisions, types.NamespacedName{Namespace: world.Namespace, Name: name}).(*appsv1.ControllerRevision)
	if !is {
		return world.Release{}, false
	}
	recorded, err := world.Recorded(r)
	if err != nil {
		j.Accuse(err)
	}
	return recorded, err == nil
}

// observe notes what pods have reached, in truth and as the manager sees it.
func (j *judge) observe() {
	for _, o := range j.Server.List(api.CafeDeployments) {
		d, b := typed(o), j.bookOf(o.GetUID())
		update, known := j.released(d.Status.UpdateRevision)
		if !known {
			continue
		}
		for _, set := range j.truth().setsOf(d.UID) {
			if set.ordinals() && set.release == update {
				b.comesHome(j.truth(), set)
			}
		}
		truth, view := j.count(j.truth(), d.UID, update), j.count(j.view.All, d.UID, update)
		for unit, c := range truth {
			if d.Status.CurrentGroup == 0 && len(d.Status.Groups) == 0 {
				// Nobody is let go before groups are cut: what is on the release is there because a set has made it anew from what its partition
				// keeps, and that is the release again.
				b.baseline[unit] = max(b.baseline[unit], c.onRelease)
			}
			if c.released > b.letGo[unit] {
				b.letGo[unit], b.reached[unit] = c.released, false
			}
			if ready := max(c.newAvailable, view[unit].newAvailable); ready >= c.released {
				b.reached[unit] = true
			}
			b.tried[unit] = max(b.tried[unit], c.asked)
			if err := b.float(unit, c, d); err != nil && j.gentle && !j.old {
				j.Accuse(fmt.Errorf("%s: %w", d.Name, err))
			}
		}
	}
}

// unitCount is how many pods a unit is asked for, and has.
type unitCount struct {
	asked, released, older int // asked in all; of those, how many may be on the release; of sets that have another release
	onRelease              int // pods
	newAvailable, available, ready,
	unschedulable, late int
	has int
	// believed is what the sets' own status says of available pods, and believedNew of those on the release.
	believed, believedNew int
}

// count counts the pods of a deployment by unit.
func (j *judge) count(read reader, owner types.UID, update world.Release) map[string]unitCount {
	byUnit := map[string]unitCount{}
	now := j.Clock.Now()
	delay := j.delay(owner)
	for _, set := range read.setsOf(owner) {
		c := byUnit[set.unit]
		c.asked += set.replicas
		c.believed += set.available
		if set.release == update {
			c.released += set.released()
			c.believedNew += set.both
		} else {
			c.older += set.replicas
		}
		for _, pod := range read.podsOf(set.object.GetUID()) {
			c.has++
			if world.Available(pod, 0, now) {
				c.ready++
			}
			available := world.Available(pod, set.minReady, now)
			if available {
				c.available++
			}
			if world.Running(pod) == update {
				c.onRelease++
				if available {
					c.newAvailable++
				}
			}
			if world.Unschedulable(pod) {
				c.unschedulable++
				if since := now.Sub(world.Condition(pod, "PodScheduled").LastTransitionTime.Time); since >= delay {
					c.late++
				}
			}
		}
		byUnit[set.unit] = c
	}
	return byUnit
}

// delay is after which a pod without a node is short.
func (j *judge) delay(owner types.UID) time.Duration {
	for _, d := range j.saw[owner] {
		if seconds := d.Spec.Topology.AutoReschedule.InitialDelaySeconds; seconds != nil {
			return time.Duration(*seconds) * time.Second
		}
	}
	return 10 * time.Second
}
