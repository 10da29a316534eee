// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"slipway.dev/slipway/internal/step"
)

// namedInEvent is how many pods an event names before it only counts the others.
const namedInEvent = 3

// Tell records what was done and what failed: one event for each reason, naming the first pods, however
// many there were. A release of thousands of pods must not drown what people look for.
//
// A kind whose events others know by other words gives those, for the steps that it wants to; nil for none.
func Tell(recorder events.EventRecorder, about runtime.Object, outcomes []Outcome, own func(step.Step) (Words, bool)) {
	var order []announcement
	told := map[announcement][]Outcome{}
	for _, o := range outcomes {
		a, worth := announce(o, own)
		if !worth {
			continue
		}
		if len(told[a]) == 0 {
			order = append(order, a)
		}
		told[a] = append(told[a], o)
	}
	for _, a := range order {
		same := told[a]
		// The first pod stands in the event too: without it, the API merges events of one reason, and the
		// names of all but the first are lost.
		recorder.Eventf(about, objectOf(same[0].Step), a.kind, a.reason, a.action, "%s", Cut(noteOn(same), NoteLimit))
	}
}

// announcement is what the outcomes of one event have in common.
type announcement struct{ kind, reason, action string }

func announce(o Outcome, own func(step.Step) (Words, bool)) (a announcement, worth bool) {
	words, told := eventOf(o.Step)
	if own != nil {
		if other, has := own(o.Step); has {
			words, told = other, true
		}
	}
	update, isUpdate := o.Step.(step.UpdateInPlace)
	switch {
	case !told, o.Err != nil && IsConflict(o.Err), o.Err == nil && words.Done == "":
		return announcement{}, false
	case isUpdate && update.CutsGrace && o.Err == nil:
		return announcement{corev1.EventTypeWarning, "UpdateWithoutDrain", words.Action}, true
	case isUpdate && update.Resumes && o.Err == nil: // its first half was told
		return announcement{}, false
	case o.Err != nil:
		return announcement{corev1.EventTypeWarning, words.Failed, words.Action}, true
	}
	return announcement{corev1.EventTypeNormal, words.Done, words.Action}, true
}

// noteOn tells of outcomes of one kind. The first speaks for all why it was done, or what went wrong.
func noteOn(same []Outcome) string {
	if err := same[0].Err; err != nil {
		if more := len(same) - 1; more > 0 {
			return fmt.Sprintf("%v (and %d more)", err, more)
		}
		return err.Error()
	}
	var names []string
	for _, o := range same[:min(len(same), namedInEvent)] {
		names = append(names, o.Step.Subject())
	}
	objects := "pod "
	switch same[0].Step.(type) {
	case step.ResizeClaim, step.GiveClaim:
		objects = "claim "
	case step.CreateSet, step.ChangeSet, step.DeleteSet:
		objects = setNoun(same[0].Step) + " "
	case step.Annotate: // it is about the object itself
		return same[0].Step.Why()
	default: // all others that are told of are pods'
	}
	objects += strings.Join(names, ", ")
	if more := len(same) - len(names); more > 0 {
		objects = fmt.Sprintf("%s and %d more", objects, more)
	}
	return objects + ": " + same[0].Step.Why()
}

// setNoun is what a set is called: by its kind, when the object says it.
func setNoun(s step.Step) string {
	if change, is := s.(step.ChangeSet); is {
		if kind := change.Before.GetObjectKind().GroupVersionKind().Kind; kind != "" {
			return kind
		}
	}
	return "pod set"
}

func objectOf(s step.Step) runtime.Object {
	ref := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: s.Subject()}
	switch s := s.(type) {
	case step.CreatePod:
		ref.Namespace = s.Pod.Namespace
	case step.DeletePod:
		ref.Namespace, ref.UID = s.Namespace, s.UID
	case step.UpdateInPlace:
		ref.Namespace, ref.UID = s.Namespace, s.UID
	case step.AdoptPod:
		ref.Namespace, ref.UID = s.Namespace, s.UID
	case step.CreateClaim:
		ref.Kind, ref.Namespace = claimKind, s.Claim.Namespace
	case step.DeleteClaim:
		ref.Kind, ref.Namespace, ref.UID = claimKind, s.Namespace, s.UID
	case step.GiveClaim:
		ref.Kind, ref.Namespace, ref.UID = claimKind, s.Namespace, s.UID
	case step.ResizeClaim:
		ref.Kind, ref.Namespace, ref.UID = claimKind, s.Namespace, s.UID
	case step.CreateSet:
		return s.Set
	case step.Apply:
		return s.Object
	case step.ChangeSet:
		return s.Before
	default:
		return nil
	}
	return ref
}

const claimKind = "PersistentVolumeClaim"

// Words are the reasons of the events of a step, and what was tried. Without Done, only failures are told.
type Words struct{ Done, Failed, Action string }

func eventOf(s step.Step) (Words, bool) {
	switch s := s.(type) {
	case step.CreatePod:
		return Words{"SuccessfulCreate", "FailedCreate", "Create"}, true
	case step.DeletePod:
		if s.Cause == step.Recreate {
			return Words{"SuccessfulUpdatePodReCreate", "FailedUpdatePodReCreate", "Recreate"}, true
		}
		return Words{"SuccessfulDelete", "FailedDelete", "Delete"}, true
	case step.UpdateInPlace:
		return Words{"SuccessfulUpdatePodInPlace", "FailedUpdatePodInPlace", "UpdateInPlace"}, true
	case step.CreateClaim:
		return Words{Failed: "FailedCreate", Action: "Create"}, true
	case step.DeleteClaim:
		return Words{Failed: "FailedDelete", Action: "Delete"}, true
	case step.GiveClaim:
		return Words{Failed: "FailedUpdate", Action: "Update"}, true
	case step.ResizeClaim:
		return Words{"SuccessfulResize", "FailedResize", "Resize"}, true
	case step.AdoptPod:
		return Words{"SuccessfulUpdate", "FailedUpdate", "Adopt"}, true
	case step.CreateSet:
		return Words{"SuccessfulCreate", "FailedCreate", "Create"}, true
	case step.Apply: // that it is applied is told by who wants it: most of the time it changes nothing
		return Words{Failed: "FailedApply", Action: "Apply"}, true
	case step.ChangeSet:
		return Words{"SuccessfulUpdate", "FailedUpdate", "Update"}, true
	case step.DeleteSet:
		return Words{"SuccessfulDelete", "FailedDelete", "Delete"}, true
	case step.Annotate:
		return Words{Done: s.Event, Failed: "FailedUpdate", Action: "Update"}, true
	case step.SetFinalizers:
		return Words{Failed: "FailedUpdate", Action: "Update"}, true
	case step.CreateRevision, step.AdoptRevision, step.RenumberRevision, step.ForgetRevision, step.ReleasePod, step.PatchPod, step.SetConditions,
		step.TrimPodsToDelete:
		return Words{}, false
	}
	panic(fmt.Sprintf("apply: step %T has no event", s))
}
