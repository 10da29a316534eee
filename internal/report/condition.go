// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"slipway.dev/slipway/internal/apply"
)

// Kind says where the conditions of one kind of objects keep what they say. Each API has a type of its own for
// them, and they differ in what they record beside status, reason and message.
type Kind[C any, T ~string] func(*C) Fields[T]

// Fields point into one condition.
type Fields[T ~string] struct {
	Type            *T
	Status          *corev1.ConditionStatus
	Reason, Message *string
	// Transition is when the status last changed.
	Transition *metav1.Time
	// Update is when anything in it last changed, and Generation what it was computed from; nil where the kind
	// does not record it.
	Update     *metav1.Time
	Generation *int64
}

// Find returns the condition of a type, or nil. It points into the list.
func (k Kind[C, T]) Find(list []C, of T) *C {
	for i := range list {
		if *k(&list[i]).Type == of {
			return &list[i]
		}
	}
	return nil
}

// Conditions of one object are written here. A condition changes only where it says something new, so that a
// settled object causes no write; those of other writers stay as they are.
type Conditions[C any, T ~string] struct {
	// List are the conditions as they are now.
	List []C

	kind       Kind[C, T]
	generation int64
	now        metav1.Time
}

// From begins with the conditions that an object of the generation has.
func (k Kind[C, T]) From(list []C, generation int64, now time.Time) *Conditions[C, T] {
	return &Conditions[C, T]{List: slices.Clone(list), kind: k, generation: generation, now: metav1.NewTime(now)}
}

// Set says how things are.
func (c *Conditions[C, T]) Set(of T, is bool, reason, message string) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	existing := c.kind.Find(c.List, of)
	if existing == nil {
		c.List = append(c.List, *new(C))
		existing = &c.List[len(c.List)-1]
		*c.kind(existing).Type = of
	}
	f := c.kind(existing)
	if *f.Status != status {
		*f.Transition = c.now
	}
	if f.Update != nil && (*f.Status != status || *f.Reason != reason || *f.Message != message) {
		*f.Update = c.now
	}
	if f.Generation != nil {
		*f.Generation = c.generation
	}
	*f.Status, *f.Reason, *f.Message = status, reason, message
}

// Fail says that the last pass failed, or takes it back.
func (c *Conditions[C, T]) Fail(of T, failures []string) {
	if len(failures) == 0 {
		c.Clear(of)
		return
	}
	c.Set(of, true, "", Shortened(failures, "; "))
}

// Clear sets a condition to False that was True once.
func (c *Conditions[C, T]) Clear(of T) {
	if c.kind.Find(c.List, of) != nil {
		c.Set(of, false, "", "")
	}
}

// Unsaid are the conditions of after with the reasons and messages of before, where a condition is what it was: they differ
// from before only when one has begun, or has turned.
func (k Kind[C, T]) Unsaid(before, after []C) []C {
	same := slices.Clone(after)
	for i := range same {
		is := k(&same[i])
		if known := k.Find(before, *is.Type); known != nil && *k(known).Status == *is.Status {
			was := k(known)
			*is.Reason, *is.Message = *was.Reason, *was.Message
			if is.Update != nil {
				*is.Update = *was.Update
			}
		}
	}
	return same
}

// TellTrouble records an event when a condition begins to tell of trouble, not each time that it is seen.
func (k Kind[C, T]) TellTrouble(recorder events.EventRecorder, about runtime.Object, before, after []C, of T) {
	was, is := k.Find(before, of), k.Find(after, of)
	if is == nil || *k(is).Status != corev1.ConditionTrue {
		return
	}
	if was != nil && *k(was).Status == corev1.ConditionTrue && *k(was).Message == *k(is).Message {
		return
	}
	recorder.Eventf(about, nil, corev1.EventTypeWarning, *k(is).Reason, "Plan", "%s", apply.Cut(*k(is).Message, apply.NoteLimit))
}
