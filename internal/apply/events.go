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
func Tell(recorder events.EventRecorder, about runtime.Object, outcomes []Outcome) {
	var order []announcement
	told := map[announcement][]Outcome{}
	for _, o := range outcomes {
		a, worth := announce(o)
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

func announce(o Outcome) (a announcement, worth bool) {
	reasons, told := eventOf(o.Step)
	update, isUpdate := o.Step.(step.UpdateInPlace)
	switch {
	case !told, o.Err != nil && IsConflict(o.Err), o.Err == nil && reasons.done == "":
		return announcement{}, false
	case isUpdate && update.Resumes && o.Err == nil: // its first half was told
		return announcement{}, false
	case o.Err != nil:
		return announcement{corev1.EventTypeWarning, reasons.failed, reasons.action}, true
	}
	return announcement{corev1.EventTypeNormal, reasons.done, reasons.action}, true
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
	pods := "pod " + strings.Join(names, ", ")
	if more := len(same) - len(names); more > 0 {
		pods = fmt.Sprintf("%s and %d more", pods, more)
	}
	return pods + ": " + same[0].Step.Why()
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
	case step.CreateClaim:
		ref.Kind, ref.Namespace = claimKind, s.Claim.Namespace
	case step.DeleteClaim:
		ref.Kind, ref.Namespace, ref.UID = claimKind, s.Namespace, s.UID
	case step.GiveClaim:
		ref.Kind, ref.Namespace, ref.UID = claimKind, s.Namespace, s.UID
	default:
		return nil
	}
	return ref
}

const claimKind = "PersistentVolumeClaim"

// eventReasons name the event of a step. Without done, only failures are told.
type eventReasons struct{ done, failed, action string }

func eventOf(s step.Step) (eventReasons, bool) {
	switch s := s.(type) {
	case step.CreatePod:
		return eventReasons{"SuccessfulCreate", "FailedCreate", "Create"}, true
	case step.DeletePod:
		if s.Cause == step.Recreate {
			return eventReasons{"SuccessfulUpdatePodReCreate", "FailedUpdatePodReCreate", "Recreate"}, true
		}
		return eventReasons{"SuccessfulDelete", "FailedDelete", "Delete"}, true
	case step.UpdateInPlace:
		return eventReasons{"SuccessfulUpdatePodInPlace", "FailedUpdatePodInPlace", "UpdateInPlace"}, true
	case step.CreateClaim:
		return eventReasons{failed: "FailedCreate", action: "Create"}, true
	case step.DeleteClaim:
		return eventReasons{failed: "FailedDelete", action: "Delete"}, true
	case step.GiveClaim:
		return eventReasons{failed: "FailedUpdate", action: "Update"}, true
	case step.CreateRevision, step.AdoptRevision, step.RenumberRevision, step.ForgetRevision, step.ReleasePod, step.PatchPod, step.SetConditions,
		step.TrimPodsToDelete:
		return eventReasons{}, false
	}
	panic(fmt.Sprintf("apply: step %T has no event", s))
}
