// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/step"
)

// Status writes the status of an object, on the condition that it is still the version of before. All of
// the status is sent, not only what differs: the schema requires members that a stored status may lack.
func (a *Applier) Status(ctx context.Context, before, after client.Object) error {
	patch, err := statusPatch(before, after)
	if err != nil {
		return fmt.Errorf("encoding the status of %s: %w", before.GetName(), err)
	}
	if err := a.client.Status().Patch(ctx, after, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("writing the status of %s: %w", before.GetName(), err)
	}
	a.writes.Wrote(after.GetUID(), after)
	return nil
}

func statusPatch(before, after client.Object) ([]byte, error) {
	was, errBefore := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	is, errAfter := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err := errors.Join(errBefore, errAfter); err != nil {
		return nil, err
	}
	status, _ := is["status"].(map[string]any)
	if old, had := was["status"].(map[string]any); had {
		for member := range old {
			if _, kept := status[member]; !kept {
				status[member] = nil // a merge patch removes what is null
			}
		}
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": before.GetUID(), "resourceVersion": before.GetResourceVersion()},
		"status":   status,
	})
}

// Tell records an event about each step that people want to know of.
func Tell(recorder events.EventRecorder, about runtime.Object, outcomes []Outcome) {
	for _, o := range outcomes {
		if o.Err != nil && IsConflict(o.Err) {
			continue
		}
		tellOne(recorder, about, o)
	}
}

func tellOne(recorder events.EventRecorder, about runtime.Object, o Outcome) {
	reasons, told := eventOf(o.Step)
	update, isUpdate := o.Step.(step.UpdateInPlace)
	switch {
	case !told:
	case o.Err == nil && reasons.done == "":
	case isUpdate && update.Resumes && o.Err == nil: // its first half was told
	case o.Err != nil:
		recorder.Eventf(about, nil, corev1.EventTypeWarning, reasons.failed, reasons.action, "%s", o.Err.Error())
	default:
		recorder.Eventf(about, nil, corev1.EventTypeNormal, reasons.done, reasons.action, "pod %s: %s", o.Step.Subject(), o.Step.Why())
	}
}

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
