// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
)

// desired is the annotation in which the controller notes on a ReplicaSet for how many replicas of the Deployment it was
// scaled last.
const desired = "deployment.kubernetes.io/desired-replicas"

// deployment is a Deployment in a story.
type deployment struct {
	play
	d           *appsv1.Deployment
	replicas    int
	surge, down int
	// older are the names of ReplicaSets of other templates, the oldest first, and to is that of the newest template.
	older []string
	to    string
	// rescaled: the ReplicaSets are made for another number of replicas.
	rescaled bool
	serial   int
}

// Deployment tells what becomes of a Deployment with its defaults. It fails on numbers that cannot be read.
func Deployment(wanted *appsv1.Deployment, live Live, now time.Time) (story.Story, error) {
	d := &deployment{d: wanted, replicas: int(ptr.Deref(wanted.Spec.Replicas, 1)), to: unrecorded}
	if err := d.limits(); err != nil {
		return story.Story{}, err
	}
	d.pause = time.Duration(wanted.Spec.MinReadySeconds) * time.Second
	d.cast(live, now)
	s := &d.story
	s.By, s.Strategy = "Kubernetes' own Deployment controller, as it is documented", string(wanted.Spec.Strategy.Type)
	s.FromRevision, s.ToRevision = d.to, d.to
	if len(d.older) > 0 {
		s.FromRevision = d.older[len(d.older)-1]
	}
	s.Replicas, s.MaxUnavailable, s.MaxSurge = d.replicas, d.down, d.surge
	if wanted.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		s.Bound = "strategy.type Recreate"
	}
	d.begin()
	d.compare("Deployment")
	s.Assumed = append(s.Assumed, "which pods of a ReplicaSet go first is the controller's choice, and so are the names of new ones")
	if wanted.Spec.Paused {
		d.paused()
		return d.settle(), nil
	}
	d.scale()
	for range limit {
		if wanted.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
			d.recreate()
		} else {
			d.roll()
		}
		if !d.turn() {
			return d.settle(), nil
		}
	}
	s.Left = append(s.Left, "the story is too long to be told to its end")
	return d.settle(), nil
}

func (d *deployment) limits() error {
	if d.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		d.down = d.replicas
		return nil
	}
	rolling := ptr.Deref(d.d.Spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
	var err error
	if d.surge, err = budget.Resolve(rolling.MaxSurge, d.replicas, budget.Up, "spec.strategy.rollingUpdate.maxSurge"); err != nil {
		return err
	}
	if d.down, err = budget.Resolve(rolling.MaxUnavailable, d.replicas, budget.Down, "spec.strategy.rollingUpdate.maxUnavailable"); err != nil {
		return err
	}
	if d.surge == 0 && d.down == 0 {
		d.down = 1 // it would never go on
	}
	return nil
}

// cast finds out which pods there are, and of which ReplicaSets.
func (d *deployment) cast(live Live, now time.Time) {
	own := slices.DeleteFunc(slices.Clone(live.ReplicaSets), func(rs *appsv1.ReplicaSet) bool { return !pod.IsControlledBy(rs, d.d.UID) })
	slices.SortFunc(own, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, rs := range own {
		if d.to == unrecorded && alike(&rs.Spec.Template, &d.d.Spec.Template) { // the oldest of several is taken
			d.to = rs.Name
		}
	}
	for _, rs := range own {
		var pods []*corev1.Pod
		for _, c := range live.Pods {
			if pod.IsControlledBy(c, rs.UID) && pod.IsActive(c) {
				pods = append(pods, c)
			}
		}
		if len(pods) > 0 && rs.Name != d.to {
			d.older = append(d.older, rs.Name)
		}
		if n, err := strconv.Atoi(rs.Annotations[desired]); err == nil && ptr.Deref(rs.Spec.Replicas, 0) > 0 {
			d.rescaled = d.rescaled || n != d.replicas
		}
		for _, c := range pod.VictimOrder(pods, pod.Ranking{MinReadySeconds: d.d.Spec.MinReadySeconds, Now: now}) {
			a := actorOf(c, d.d.Spec.MinReadySeconds, now)
			a.ownedBy, a.updated, a.revision = rs.Name, rs.Name == d.to, rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
			d.pods = append(d.pods, a)
		}
	}
}

// of are the pods of a ReplicaSet that stay.
func (d *deployment) of(set string) (found []*actor) {
	for _, a := range d.pods {
		if a.ownedBy == set && !a.going {
			found = append(found, a)
		}
	}
	return found
}

// active are the ReplicaSets that have pods.
func (d *deployment) active() (names []string) {
	for _, a := range d.pods {
		if !a.going && !slices.Contains(names, a.ownedBy) {
			names = append(names, a.ownedBy)
		}
	}
	return names
}

func (d *deployment) grow(set string, n int, why string) {
	hash := ""
	if of := d.of(set); len(of) > 0 {
		hash = of[0].revision
	}
	for range n {
		d.serial++
		d.create(&actor{name: fmt.Sprintf("new pod %d", d.serial), revision: hash, updated: set == d.to, ownedBy: set}, why)
	}
}

func (d *deployment) shrink(set string, n int, verb story.Verb, why string) {
	for _, a := range d.of(set)[:n] {
		d.remove(a, verb, "", why)
	}
}

// scale brings the ReplicaSets to another number of replicas. The controller does that before it rolls anything out, and
// waits for nothing in between.
func (d *deployment) scale() {
	active := d.active()
	switch {
	case !d.rescaled || len(active) == 0:
		return
	case len(active) > 1:
		d.story.Assumed = append(d.story.Assumed, "the new number of replicas is shared among several ReplicaSets first, which is not told")
		return
	}
	d.resize(active[0])
}

func (d *deployment) resize(set string) {
	why := fmt.Sprintf("replicas is %d", d.replicas)
	switch has := len(d.of(set)); {
	case has < d.replicas:
		d.grow(set, d.replicas-has, why)
	case has > d.replicas:
		d.shrink(set, has-d.replicas, story.Delete, why)
	}
}

// paused scales only.
func (d *deployment) paused() {
	active := d.active()
	switch len(active) {
	case 0:
	case 1:
		d.resize(active[0])
		d.turn()
	default:
		d.story.Left = append(d.story.Left, "pods of several ReplicaSets are there: a new number of replicas would be shared among them, which is not told")
	}
	if len(d.older) > 0 || len(active) == 0 {
		d.story.Left = append(d.story.Left, "spec.paused: the template is not rolled out")
	}
}

// roll takes from older ReplicaSets what may be missing, and gives the newest what may be too many, until both wait for
// pods to become available.
func (d *deployment) roll() {
	for moved := true; moved; {
		total, updated := d.count().Total, d.of(d.to)
		grow := min(d.replicas-len(updated), d.replicas+d.surge-total)
		if over := len(updated) - d.replicas; over > 0 {
			d.shrink(d.to, over, story.Delete, fmt.Sprintf("replicas is %d", d.replicas))
		}
		moved = grow > 0
		if moved {
			d.grow(d.to, grow, fmt.Sprintf("%d of %s of the newest template are there, and at most %d pods in all may be", len(updated), step.Counted(d.replicas, "pod", "pods"), d.replicas+d.surge))
		}
		moved = d.retire() > 0 || moved
	}
}

// retire deletes pods of older ReplicaSets, those first that are not available.
func (d *deployment) retire() (gone int) {
	c := d.count()
	waiting := 0
	for _, a := range d.of(d.to) {
		if !a.ready {
			waiting++
		}
	}
	least := d.replicas - d.down
	left := c.Total - least - waiting
	why := fmt.Sprintf("at least %d pods stay available without it", least)
	for _, healthy := range []bool{false, true} {
		for _, set := range d.older {
			for _, a := range d.of(set) {
				if left <= 0 || a.ready != healthy || healthy && c.Available <= least {
					continue
				}
				if a.ready {
					c.Available--
				}
				d.remove(a, story.Recreate, "", why)
				left, gone = left-1, gone+1
			}
		}
	}
	return gone
}

// recreate takes all older pods away, and when they are gone makes the new ones.
func (d *deployment) recreate() {
	for _, set := range d.older {
		d.shrink(set, len(d.of(set)), story.Recreate, "strategy.type is Recreate: all pods of older templates go before any of the newest comes")
	}
	if len(d.before) == 0 {
		d.resize(d.to)
	}
}
