// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/workload"
)

// check compares how a story has ended with how it should, and looks at every object.
func (t *telling) check(e end) error {
	if err := clean(t.World); err != nil {
		return err
	}
	state := gone
	if r := t.trait(); r != nil {
		state = r.Status.RollingState
	}
	if state != e.state {
		return fmt.Errorf("it ends as %s, and should end as %s", state, e.state)
	}
	if err := t.checkPods(e.pods); err != nil {
		return fmt.Errorf("%w: %s", err, t.World.Summary())
	}
	return nil
}

// checkPods compares pods, sizes, partitions and pauses with what should have become of them.
func (t *telling) checkPods(after podsAfter) error {
	from, to := t.op.sizes()
	switch after {
	case noneLeft:
		if name := t.lastTarget(); t.workload(name) != nil {
			return fmt.Errorf("%s is still there", name)
		}
		return nil
	case allNew:
		if t.pairs() {
			return firstOf(t.has(second, to), t.has(first, 0))
		}
		return t.has(first, to)
	case allOld:
		if t.pairs() {
			return firstOf(t.has(first, from), t.has(second, 0))
		}
		if app := workload.SpecOf(t.workload(first)).App; app != "v1" {
			return fmt.Errorf("its template is %s", app)
		}
		return t.has(first, from)
	case newest:
		return t.checkNewest()
	case someNew:
		return t.checkMixture(from, to)
	}
	return fmt.Errorf("unknown end %q", after)
}

// checkNewest is for stories in which something else was asked for on the way.
func (t *telling) checkNewest() error {
	r := t.trait()
	switch {
	case t.pairs() && r.Spec.TargetRef.Name == third:
		return firstOf(t.has(first, 0), t.has(third, 4)) // what the first one had left; the second one stays
	case t.pairs():
		return firstOf(t.has(first, 0), t.has(second, 9)) // the autoscaler had the source grow by four
	case r.Spec.RolloutPlan.TargetSize != nil:
		return t.has(first, int(*r.Spec.RolloutPlan.TargetSize))
	case t.daemons():
		return t.has(first, len(t.Server.List(api.Nodes)))
	}
	return t.has(first, workload.SpecOf(t.workload(first)).Replicas)
}

// checkMixture is for rollouts that end in the middle, and leave the pods.
func (t *telling) checkMixture(from, to int) error {
	s := workload.SpecOf(t.workload(first))
	pods := t.TallyOf(t.PodsOf(t.workload(first)))
	switch {
	case t.pairs():
		n := workload.SpecOf(t.workload(second)).Replicas
		if n == 0 || n == 5 {
			return fmt.Errorf("%s is asked for %d pods", second, n)
		}
		return nil
	case t.op != rollsOut:
		if s.Replicas == from || s.Replicas == to {
			return fmt.Errorf("it is asked for %d pods", s.Replicas)
		}
		return t.has(first, s.Replicas)
	}
	updated := pods.All[s.App]
	switch {
	case updated == 0 || updated == 5:
		return fmt.Errorf("%d pods are updated", updated)
	case s.Paused:
		return fmt.Errorf("it is paused")
	case !t.daemons() && 5-s.Kept > updated: // it can be fewer: a status may be behind its pods
		return fmt.Errorf("%d pods are kept, and %d are updated", s.Kept, updated)
	}
	return nil
}

// has tells what is wrong when a workload has not so many pods, all on its template and available, with nothing that holds it back.
func (t *telling) has(name string, want int) error {
	o := t.workload(name)
	if o == nil {
		return fmt.Errorf("%s is gone", name)
	}
	s := workload.SpecOf(o)
	pods := t.TallyOf(t.PodsOf(o))
	switch {
	case pods.Pods != want || pods.Serving != want || pods.All[s.App] != want:
		return fmt.Errorf("%s has %s, and should have %d of %s", name, pods, want, s.App)
	case workload.FieldsOf(o).Replicas != nil && s.Replicas != want:
		return fmt.Errorf("%s is asked for %d pods, and should be for %d", name, s.Replicas, want)
	case s.Kept != 0 || s.Paused:
		return fmt.Errorf("%s keeps %d pods, paused: %t", name, s.Kept, s.Paused)
	}
	return nil
}

func (t *telling) lastTarget() string {
	if t.pairs() {
		return second
	}
	return first
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
