// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"slipway.dev/slipway/test/node"
	"slipway.dev/slipway/test/simulation/api"
)

// Orderly is a world in which nothing is late and nothing fails, and in which things happen in a fixed order: the cache learns, the manager
// looks, others act, pods are bound, nodes act, time passes. Releases are told in it.
type Orderly struct {
	*World
	// Look is one look of the manager, when something is queued.
	Look func() error
	// Besides is what somebody else would do when the manager has nothing to do, and AtLast what one would do when nodes have not either:
	// nil for nothing. Both may be nil for nobody.
	Besides, AtLast func() func()
	// Quiet is for how long only nodes write to pods, and statuses tell of that, in a world that is at rest although pods crash for ever.
	Quiet time.Duration
}

// NewOrderly is an orderly world of a kind with nodes, and with a manager that has not started yet.
func NewOrderly(kind Kind) *Orderly {
	o := &Orderly{World: New(1, kind, nil)}
	o.Model = node.Model{
		ReadyDelay: 2 * time.Second, RestartDelay: time.Second, CrashAfter: time.Second, BackOff: 10 * time.Second, MaxBackOff: 5 * time.Minute,
		ResizeDelay: time.Second, Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
	}
	o.Volumes = kind.HasVolumes()
	o.Look, o.Quiet = o.Manager.Reconcile, quiet
	return o
}

// Step lets one thing happen; false when there is nothing.
func (o *Orderly) Step() bool {
	for _, kind := range api.Kinds() {
		if o.Manager.Cache.Pending(kind) > 0 {
			o.Manager.Deliver(kind)
			return true
		}
	}
	if len(o.Manager.Queued()) > 0 {
		if err := o.Look(); err != nil {
			o.Bench.Accuse(err)
		}
		return true
	}
	return does(o.Besides) || o.keepHouse() || o.runPods() || does(o.AtLast)
}

// does has somebody do what they would do; false when that is nothing.
func does(who func() func()) bool {
	if who == nil {
		return false
	}
	do := who()
	if do != nil {
		do()
	}
	return do != nil
}

// keepHouse is what Kubernetes does about objects that nobody needs, and claims that want something.
func (o *Orderly) keepHouse() bool {
	if orphan := o.Orphan(); orphan != nil {
		o.Collect(orphan)
		return true
	}
	if claim := o.Unmet(); claim != nil {
		o.Meet(claim)
		return true
	}
	if claim := o.Unused(); claim != nil {
		o.Unprotect(claim)
		return true
	}
	return false
}

// runPods is what the scheduler and the nodes do.
func (o *Orderly) runPods() bool {
	for _, pod := range o.Pods() {
		switch {
		case pod.Spec.NodeName == "" && Active(pod) && o.Waits(pod):
		case pod.Spec.NodeName == "" && Active(pod):
			o.Bind(pod)
			return true
		case o.Kubelet[pod.UID].Busy:
			o.StepNode(pod)
			return true
		}
	}
	return false
}

// Until lets things happen until something is so. It is an error when that does not come within an hour.
func (o *Orderly) Until(what string, is func() bool) error {
	end := o.Clock.Now().Add(time.Hour)
	came, err := o.goOn(is, func(at time.Time, some bool) bool { return !some || at.After(end) })
	if err == nil && !came {
		return fmt.Errorf("waited for: %s; %s", what, o.Summary())
	}
	return err
}

// Rest lets things happen until nothing does any more.
func (o *Orderly) Rest() error { return o.restOr(never) }

// restOr lets things happen until something is so, or nothing happens any more.
func (o *Orderly) restOr(is func() bool) error {
	judged, moved := len(o.Server.Log()), o.Clock.Now()
	_, err := o.goOn(is, func(_ time.Time, some bool) bool {
		for log := o.Server.Log(); judged < len(log); judged++ {
			if moves(log[judged]) {
				moved = log[judged].Time
			}
		}
		return !some || o.Clock.Now().Sub(moved) > o.Quiet
	})
	return err
}

// moves tells whether a write shows that the world has not come to rest. Statuses of pods, rollouts and applications do so; those of sets
// only tell of their pods.
func moves(w api.Write) bool {
	switch {
	case w.Actor == "node":
		return false
	case w.Subresource != api.Status:
		return true
	}
	return w.Kind == api.Pods || w.Kind == api.RolloutTraits || w.Kind == api.AppRollouts || w.Kind == api.Applications
}

// Pass lets things happen for some time.
func (o *Orderly) Pass(d time.Duration) error {
	end := o.Clock.Now().Add(d)
	_, err := o.goOn(never, func(at time.Time, some bool) bool { return !some || at.After(end) })
	if err == nil {
		o.Advance(end.Sub(o.Clock.Now()))
	}
	return err
}

func never() bool { return false }

// goOn lets things happen until something is so, which it returns, or until the time of what would happen next is too late. It is an error
// when that goes on for too long, and when somebody breaks a rule.
func (o *Orderly) goOn(is func() bool, late func(at time.Time, some bool) bool) (bool, error) {
	for range patience {
		if err := o.Bench.Violation(); err != nil {
			return false, err
		}
		if is() {
			return true, nil
		}
		if o.Step() {
			continue
		}
		at, some := o.NextAlarm()
		if late(at, some) {
			return false, nil
		}
		o.Advance(max(at.Sub(o.Clock.Now()), 0))
	}
	return false, fmt.Errorf("the world does not come to rest within %d steps; %s", patience, o.Summary())
}
