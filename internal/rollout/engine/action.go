// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// Side is one of the workloads of a rollout.
type Side int

const (
	// Target is the newer workload, or the only one.
	Target Side = iota
	// Source is the older one.
	Source
)

// String names the side.
func (s Side) String() string {
	if s == Source {
		return "source"
	}
	return "target"
}

// Action is one thing to do. The set is closed. An action is asked for at each look until it is seen to be done, so doing it
// twice is harmless.
//
//sumtype:decl
type Action interface {
	// Why says in one sentence why it is done.
	Why() string

	sealed()
}

// Because is the reason of an action: one sentence without a full stop.
type Because string

// Why returns the reason.
func (b Because) Why() string { return string(b) }

func (Enter) sealed()     {}
func (Leave) sealed()     {}
func (Hold) sealed()      {}
func (Mark) sealed()      {}
func (Unpause) sealed()   {}
func (Advance) sealed()   {}
func (Resize) sealed()    {}
func (BringBack) sealed() {}
func (Release) sealed()   {}
func (Invoke) sealed()    {}
func (Measure) sealed()   {}

// Enter puts the finalizer on the rollout.
type Enter struct{ Because }

// Leave takes the finalizer off the rollout.
type Leave struct{ Because }

// Hold claims a workload, remembers what stands in it, and sees to it that no pod moves: no more than Asked pods may be on
// the newest template. A pause stays.
type Hold struct {
	Because
	On    Side
	Mode  rolloutv1alpha1.RolloutMode
	Asked int
}

// Unpause ends the pause of a workload that is held. It is never one write with what holds back the pods instead: a server may drop
// that.
type Unpause struct {
	Because
	On Side
}

// Mark puts back on a workload that is held what others are told of its changes by. Whatever else changes such a workload does
// that as well.
type Mark struct {
	Because
	On Side
}

// Advance lets exactly To pods be on the newest template, of a workload that holds two versions.
type Advance struct {
	Because
	To int
}

// Resize asks a workload for To pods.
type Resize struct {
	Because
	On Side
	To int
}

// BringBack gives a workload the template that it had before, and sees to it that no pod moves by that: Asked pods have
// it already.
type BringBack struct {
	Because
	Asked int
}

// Release lets go of a workload.
type Release struct {
	Because
	On   Side
	Mode rolloutv1alpha1.RolloutMode
	// Opens: nothing holds back pods any more: the rollout has succeeded, or has brought back what was before. Otherwise the pods
	// stay as they are, and no more than Asked may be on the newest template, of a workload that holds two versions.
	Opens bool
	Asked int
}

// Invoke calls a webhook in the background, unless it is being called already.
type Invoke struct {
	Because
	Key   string
	Hook  rolloutv1alpha1.RolloutWebhook
	Phase string
}

// Measure asks for a sample in the background, unless that is being asked for already.
type Measure struct {
	Because
	Key    string
	Metric rolloutv1alpha1.CanaryMetric
	Batch  int
}

// Plan is what to do now, and what to say of it.
type Plan struct {
	Status  rolloutv1alpha1.RolloutStatus
	Actions []Action
	// News are worth an event.
	News []News
	// LookAgain is how long to wait when nothing happens before; 0 for as long as nothing does.
	LookAgain time.Duration
}

// News is something that people are told once.
type News struct {
	Reason, Note string
	// Bad news are warnings.
	Bad bool
}

// SideOf is the workload that an action is about. Those of in-place kinds are about the target.
func SideOf(a Action) Side {
	switch a := a.(type) {
	case Hold:
		return a.On
	case Unpause:
		return a.On
	case Mark:
		return a.On
	case Resize:
		return a.On
	case Release:
		return a.On
	case Enter, Leave, Advance, BringBack, Invoke, Measure:
	}
	return Target
}

// changes tells whether an action changes the workload of a side.
func changes(a Action, s Side) bool {
	switch a.(type) {
	case Hold, Unpause, Mark, Advance, Resize, BringBack, Release:
		return SideOf(a) == s
	case Enter, Leave, Invoke, Measure:
	}
	return false
}
