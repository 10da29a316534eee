// SPDX-License-Identifier: Apache-2.0

package story

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"slipway.dev/slipway/internal/step"
)

// Verb is what happens to one object.
type Verb string

// The verbs. Those of revisions come last.
const (
	Create  Verb = "create"
	InPlace Verb = "update in place"
	// Drain takes a pod out of service for its grace period; Resume is the change of its containers after it.
	Drain  Verb = "drain"
	Resume Verb = "update in place after its grace period"
	// Advance is the change of containers that wait for others to go first.
	Advance Verb = "update the next containers in place"
	// Recreate deletes a pod so that one of another revision takes its place.
	Recreate Verb = "recreate"
	Delete   Verb = "delete"
	// CleanUp deletes a pod that has ended.
	CleanUp Verb = "clean up"
	Release Verb = "release"
	// Prepare begins what a lifecycle hook comes before; Label changes labels and annotations only.
	Prepare Verb = "prepare"
	Label   Verb = "label"

	CreateClaim Verb = "create claim"
	DeleteClaim Verb = "delete claim"
	ResizeClaim Verb = "enlarge claim"
	// GiveClaim has a claim go with whom it has to go.
	GiveClaim Verb = "change owners of claim"

	// Update is for pods of which some are updated in place and some recreated. Give is about a pod set, and Confirm about a
	// group that a person is asked for.
	Update  Verb = "update"
	Give    Verb = "give the new template to"
	Confirm Verb = "wait for a confirmation of"

	// Apply and TakeAway are about objects of an application that are no pods.
	Apply    Verb = "apply"
	TakeAway Verb = "take away"

	// Other is a step of the controller that touches no pod, claim or revision.
	Other Verb = "other"

	RecordRevision Verb = "record revision"
	ReuseRevision  Verb = "reuse revision"
	AdoptRevision  Verb = "adopt revision"
	ForgetRevision Verb = "forget revision"
)

// Action is what happens to one pod or revision, or to some pods of one unit, at one moment.
type Action struct {
	// Order counts the actions of pods from 1, over the whole story; 0 for those of other objects. Pods is how many of them
	// an action is about when it is about several, which come from Order on.
	Order int `json:"order,omitempty"`
	Pods  int `json:"pods,omitempty"`
	// Object is the name of the pod or revision. Names of pods that do not exist yet are only foretold.
	Object string `json:"object"`
	Verb   Verb   `json:"verb"`
	// From and To are the hashes of the revisions of a pod before and after. Either may be empty.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Why is the controller's own reason.
	Why string `json:"why"`
}

// Count is how many pods there are, not counting those that have ended or are on their way out.
type Count struct {
	Available int `json:"available"`
	Total     int `json:"total"`
}

// Moment is one pass of the controller that does something, and what follows from it by itself.
type Moment struct {
	// Waited is time that had to pass since the moment before, whatever the nodes do: a grace period, or
	// minReadySeconds.
	Waited  time.Duration `json:"waitedNanoseconds,omitempty"`
	Actions []Action      `json:"actions"`
	// During is counted when the actions are accepted, After when the nodes have followed them.
	During Count `json:"during"`
	After  Count `json:"after"`
}

// Change is what stands between the pods of one older revision and the update revision.
type Change struct {
	// From is the hash of the older revision, Pods the number of pods that carry it at the beginning.
	From string `json:"from"`
	Pods int    `json:"pods"`
	// InPlace tells whether living pods can take the change over, as far as the fields go.
	InPlace bool `json:"inPlace"`
	// Instead says what in the spec has them recreated nevertheless; empty for nothing.
	Instead string `json:"instead,omitempty"`
	// What names the changes that reach living pods, Forces the fields that only new pods can have.
	What   string   `json:"what,omitempty"`
	Forces []string `json:"forces,omitempty"`
}

// String says of the pods whether they can be kept, and if not, because of which fields.
func (c Change) String() string {
	who := step.Counted(c.Pods, "pod", "pods") + " of revision " + c.From
	if !c.InPlace {
		return fmt.Sprintf("%s cannot change in place: %s", who, strings.Join(c.Forces, ", "))
	}
	line := fmt.Sprintf("%s can change in place (%s)", who, cmp.Or(c.What, "nothing differs"))
	if c.Instead != "" {
		line += ", but " + c.Instead
	}
	return line
}

// Group is a part of a release that goes at once.
type Group struct {
	// Title and Contents say which it is, and what it does.
	Title    string `json:"title"`
	Contents string `json:"contents"`
	// Waits: it begins when a person has confirmed the group before.
	Waits bool `json:"waits,omitempty"`
	// Done: it was over at the beginning.
	Done bool `json:"done,omitempty"`
}

// Story is what would happen.
type Story struct {
	// By is who does it, when that is none of Slipway's controllers.
	By string `json:"by,omitempty"`
	// FromRevision is the last revision that was rolled out completely, ToRevision that of the template.
	FromRevision string `json:"fromRevision"`
	ToRevision   string `json:"toRevision"`
	// Strategy is the update strategy, in the words of the kind.
	Strategy string `json:"updateStrategy"`
	// Replicas, MaxUnavailable, MaxSurge and Partition are the numbers of the spec, in pods.
	Replicas       int `json:"replicas"`
	MaxUnavailable int `json:"maxUnavailable"`
	MaxSurge       int `json:"maxSurge"`
	Partition      int `json:"partition"`

	// Bound says what in the spec MaxUnavailable comes from; empty for the field of that name.
	Bound string `json:"bound,omitempty"`

	Changes []Change `json:"changes,omitempty"`
	// Groups are those of a release that goes in groups.
	Groups  []Group  `json:"groups,omitempty"`
	Start   Count    `json:"start"`
	Moments []Moment `json:"moments"`
	End     Count    `json:"end"`
	// Least is the fewest pods available at any time, from the beginning on.
	Least int `json:"leastAvailable"`
	// Invalid says what in the spec keeps the controller from doing anything.
	Invalid string `json:"invalid,omitempty"`
	// Left says what is left undone, and why. Empty when the spec is reached.
	Left []string `json:"left,omitempty"`
	// Assumed says what the story takes for granted beyond healthy nodes.
	Assumed []string `json:"assumed,omitempty"`
}

// Empty tells whether the controller would do nothing.
func (s *Story) Empty() bool { return len(s.Moments) == 0 }

// Pods are all actions of pods, in their order.
func (s *Story) Pods() []Action {
	var actions []Action
	for _, m := range s.Moments {
		for _, a := range m.Actions {
			if a.Order > 0 {
				actions = append(actions, a)
			}
		}
	}
	return actions
}
