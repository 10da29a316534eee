// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func contains(text, part string) bool { return strings.Contains(text, part) }

func equal(a, b Plan) bool { return cmp.Equal(a, b) }

var (
	cloneSet = rolloutv1alpha1.WorkloadReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "shop"}
	newer    = rolloutv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop-v2"}
	older    = rolloutv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop-v1"}
)

// newWorld is a set of ten pods with a new template that no pod has yet.
func newWorld() World {
	return World{
		Rollout: Rollout{
			Namespace: "web", Name: "shop", UID: "u1", Generation: 1, Target: cloneSet, Finalizer: true,
			Plan: rolloutv1alpha1.RolloutPlan{RolloutBatches: batchesOf(1, "20%", "50%", nil)},
		},
		Target: Workload{
			Found: true, Versions: true, Differs: true, Seen: true, Held: true, Template: "new", Replicas: 10, Pods: 10, Ready: 10, Available: 10,
			Before: Before{Replicas: 10, Template: "old", Known: true},
		},
	}
}

func batchesOf(sizes ...any) []rolloutv1alpha1.RolloutBatch {
	batches := make([]rolloutv1alpha1.RolloutBatch, len(sizes))
	for i, size := range sizes {
		batches[i].Replicas = number(size)
	}
	return batches
}

func number(v any) *intstr.IntOrString {
	switch v := v.(type) {
	case int:
		return ptr.To(intstr.FromInt32(int32(v)))
	case string:
		return ptr.To(intstr.FromString(v))
	}
	return nil
}

// started is the status of a rollout of newWorld that is in a state.
func started(s State) rolloutv1alpha1.RolloutStatus {
	status := rolloutv1alpha1.RolloutStatus{RollingState: s.Rolling, BatchRollingState: s.Batch, Run: 1, ObservedGeneration: 1}
	if s == None || s == Locating || s == Verifying {
		return status
	}
	status.NewPodTemplateIdentifier, status.RolloutOriginalSize, status.RolloutTargetSize = "new", 10, 10
	status.Running = &rolloutv1alpha1.RunningRollout{Mode: rolloutv1alpha1.InPlaceMode, TargetRef: cloneSet, Total: 10}
	status.Running.RolloutBatches = Batches(&rolloutv1alpha1.RolloutPlan{RolloutBatches: batchesOf(1, "20%", "50%", nil)}, 10)
	status.CurrentBatch = 1
	status.LastProgressTime = at(start)
	return status
}

// observations are things that can be seen at any time.
func observations() map[string]func(*World) {
	return map[string]func(*World){
		"nothing special":                     func(*World) {},
		"the rollout is deleted":              func(w *World) { w.Rollout.Deleting = true },
		"deleted, and reverts":                func(w *World) { w.Rollout.Deleting, w.Rollout.RevertOnDelete = true, true },
		"it is paused":                        func(w *World) { w.Rollout.Plan.Paused = true },
		"the workload is gone":                func(w *World) { w.Target = Workload{Versions: true} },
		"the workload is being deleted":       func(w *World) { w.Target.Going = true },
		"the workload is not held":            func(w *World) { w.Target.Held = false },
		"somebody else controls the workload": func(w *World) { w.Target.Held, w.Target.Owner = false, "Application shop" },
		"the kind is not known":               func(w *World) { w.Target = Workload{Unfit: "no adapter"} },
		"the template changes":                func(w *World) { w.Target.Template = "newest" },
		"there is no new template":            func(w *World) { w.Target.Differs = false },
		"another target":                      func(w *World) { w.Rollout.Target.Name = "other" },
		"a source appears":                    func(w *World) { w.Rollout.Source, w.Source = &older, &Workload{Found: true, Replicas: 3} },
		"all pods are updated":                func(w *World) { w.Target.Asked, w.Target.Updated, w.Target.UpdatedAvailable = 10, 10, 10 },
		"three pods are updated":              func(w *World) { w.Target.Asked, w.Target.Updated, w.Target.UpdatedAvailable = 3, 3, 3 },
		"nothing is available":                func(w *World) { w.Target.Asked, w.Target.Updated, w.Target.Available, w.Target.Ready = 3, 3, 0, 0 },
		"an autoscaler grows it":              func(w *World) { w.Target.Replicas, w.Target.Others = 15, 5 },
		"an autoscaler shrinks it":            func(w *World) { w.Target.Replicas, w.Target.Others = 2, -8 },
		"there are no pods":                   func(w *World) { w.Target.Replicas, w.Target.Pods = 0, 0 },
		"it is busy":                          func(w *World) { w.Target.Busy = "scaling from 3 to 10" },
		"the controller is behind":            func(w *World) { w.Target.Seen = false },
		"batches do not add up":               func(w *World) { w.Rollout.Plan.RolloutBatches = batchesOf(20, nil) },
		"fewer batches":                       func(w *World) { w.Rollout.Plan.RolloutBatches = nil },
		"a hook waits":                        withHooks(Call{Attempts: 3, Message: "503"}),
		"a hook passes":                       withHooks(Call{Answered: true, Passed: true}),
		"a hook rejects":                      withHooks(Call{Answered: true, Message: "403"}),
		"a hook rejects, and it pauses": func(w *World) {
			withHooks(Call{Answered: true, Message: "403"})(w)
			w.Rollout.Plan.FailurePolicy = rolloutv1alpha1.PauseOnFailure
		},
		"it reverts on failure": func(w *World) { w.Rollout.Plan.FailurePolicy = rolloutv1alpha1.RevertOnFailure },
		"what was before is not known": func(w *World) {
			w.Target.Before = Before{Why: "its revision is gone"}
			w.Rollout.Status.Ending = rolloutv1alpha1.RevertEnding
		},
		"a failure waits for a person": func(w *World) {
			w.Rollout.Plan.FailurePolicy = rolloutv1alpha1.PauseOnFailure
			w.Rollout.Status.Failure = &rolloutv1alpha1.RolloutFailure{Reason: "DeadlineMissed", Message: "late", Generation: 1}
		},
		"a failure is taken up": func(w *World) {
			w.Rollout.Status.Failure = &rolloutv1alpha1.RolloutFailure{Reason: "DeadlineMissed", Message: "late"}
		},
		"a person retries":                      func(w *World) { w.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationRetry: "1.0"} },
		"a person aborts":                       func(w *World) { w.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationAbort: "1.0"} },
		"a person reverts":                      func(w *World) { w.Rollout.Annotations = map[string]string{rolloutv1alpha1.AnnotationRevert: "1.0"} },
		"a metric":                              func(w *World) { w.Rollout.Plan.CanaryMetric = []rolloutv1alpha1.CanaryMetric{{Name: "errors"}} },
		"what the workloads are for is missing": func(w *World) { w.Blocked = "there is no revision" },
		"no finalizer":                          func(w *World) { w.Rollout.Finalizer = false },
	}
}

// withHooks gives the world one hook of each type, and the same answer to every call.
func withHooks(answer Call) func(*World) {
	return func(w *World) {
		w.Calls = map[string]Call{}
		for _, kind := range []rolloutv1alpha1.HookType{
			rolloutv1alpha1.InitializeRolloutHook, rolloutv1alpha1.PreBatchRolloutHook, rolloutv1alpha1.PostBatchRolloutHook, rolloutv1alpha1.FinalizeRolloutHook,
		} {
			hook := rolloutv1alpha1.RolloutWebhook{Type: kind, Name: "gate", URL: "http://127.0.0.1"}
			w.Rollout.Plan.RolloutWebhooks = append(w.Rollout.Plan.RolloutWebhooks, hook)
			m := &machine{World: *w, status: w.Rollout.Status}
			for _, called := range m.turns(kind, "plan", []rolloutv1alpha1.RolloutWebhook{hook}) {
				w.Calls[called.key] = answer
			}
		}
	}
}

func joined(parts ...any) string { return strings.TrimSpace(fmt.Sprintln(parts...)) }
