// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/story"
)

// Outlook is what would become of one rollout.
type Outlook struct {
	File       string `json:"file"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// New: the rollout does not exist yet. Changed: its spec is another one than the manifest's.
	New      bool     `json:"new,omitempty"`
	Changed  bool     `json:"changed,omitempty"`
	Warnings []string `json:"warnings,omitempty"`

	// Change says what becomes of what, and Plan by which rules, each in one sentence.
	Change string `json:"change"`
	Plan   string `json:"plan"`
	// From is the state that the rollout is in at the beginning; empty for one that does not exist.
	From string `json:"from,omitempty"`
	// Total is how many pods the batches divide; in a scale those that come or go.
	Total int                         `json:"total"`
	Mode  rolloutv1alpha1.RolloutMode `json:"mode,omitempty"`
	// Changes say of older revisions whether their pods can be kept, where that is known.
	Changes []story.Change `json:"changes,omitempty"`

	// Before is what happens before the first batch that is still to come, and After what happens after the last.
	Before  Part    `json:"before"`
	Batches []Batch `json:"batches"`
	After   Part    `json:"after"`

	// Start and End count the pods of all workloads, Least is the fewest that are available at any time.
	Start story.Count `json:"start"`
	End   story.Count `json:"end"`
	Least int         `json:"leastAvailable"`
	// Ending is how it ends, and State the state that it ends in. Message is what the rollout says then.
	Ending  Ending `json:"ending"`
	State   string `json:"state"`
	Message string `json:"message"`
	// Left says what keeps pods from being updated, where the rollout does not succeed.
	Left    []string `json:"left,omitempty"`
	Assumed []string `json:"assumed,omitempty"`

	// acts: something happens without a person.
	acts bool
}

// Ending is how an outlook ends.
type Ending string

// The endings.
const (
	// Succeeds: all batches are done, or there was nothing to do.
	Succeeds Ending = "succeeds"
	// Fails: it goes wrong on the way.
	Fails Ending = "fails"
	// Refused: the controller would refuse it before it holds anything.
	Refused Ending = "refused"
	// Waits: it waits for something that is not foreseen to come.
	Waits Ending = "waits"
	// Gone: it is being deleted, and goes.
	Gone Ending = "gone"
)

// Part is a part of a rollout: what it waits for and what happens to pods, in their order.
type Part struct {
	Waits   []Wait         `json:"waits,omitempty"`
	Moments []story.Moment `json:"moments,omitempty"`
}

// Batch is one batch.
type Batch struct {
	// Number counts from 1.
	Number int `json:"number"`
	// Size is what the plan says: a number, a percentage, or "rest". Pods is how many that is, and Goal how many are done after it.
	Size string `json:"size"`
	Pods int    `json:"pods"`
	Goal int    `json:"goal"`
	// Past: it was done before. Begun: it is under way at the beginning.
	Past  bool `json:"past,omitempty"`
	Begun bool `json:"begun,omitempty"`
	// Held: a person has to let it begin.
	Held bool `json:"held,omitempty"`
	// Done is how many pods are done when it ends, over all batches, and Available how many of them are available.
	Done      int `json:"done"`
	Available int `json:"available"`
	// Least is the fewest pods that are available in it, of all workloads; -1 for one that the story does not come to.
	Least int `json:"leastAvailable"`

	Part `json:",inline"`
}

// Wait is something that a rollout waits for.
type Wait struct {
	For rolloutv1alpha1.WaitingFor `json:"for"`
	// What says it in a few words.
	What string `json:"what"`
	// After is how many of the moments of the part come before it.
	After int `json:"afterMoments"`
}

// ChangesAnything tells whether anything changes as long as no person acts: the rollout itself, or what the controller does.
func (o *Outlook) ChangesAnything() bool { return o.New || o.Changed || o.acts }

// Refusal says why the controller would refuse the rollout; empty when it would not.
func (o *Outlook) Refusal() string {
	if o.Ending == Refused {
		return o.Message
	}
	return ""
}

// Warn adds what somebody should know who reads the outlook.
func (o *Outlook) Warn(warnings ...string) { o.Warnings = append(o.Warnings, warnings...) }

// Pods are the names of the pods that a part touches, in their order. Those that are made are not among them.
func (p *Part) Pods() []string {
	var names []string
	for _, m := range p.Moments {
		for _, a := range m.Actions {
			if a.Order > 0 && a.Verb != story.Create {
				names = append(names, a.Object)
			}
		}
	}
	return names
}

// updates tells whether pods get another revision in a part.
func (p *Part) updates() bool {
	for _, m := range p.Moments {
		for _, a := range m.Actions {
			switch a.Verb {
			case story.InPlace, story.Recreate, story.Update, story.Drain, story.Prepare:
				return true
			default:
			}
		}
	}
	return false
}
