// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/measure"
)

// World is everything that one decision depends on.
type World struct {
	Rollout Rollout
	// Target is the newer workload, or the only one.
	Target Workload
	// Source is the older one; nil when the rollout has none.
	Source *Workload
	// Blocked says why the workloads are not brought to where the rollout can begin, or what follows its last batch is not done;
	// empty when nothing is in the way.
	Blocked string
	// Calls are what is known of webhooks that were called, by the key of the call.
	Calls map[string]Call
	// Samples are those of metrics that were taken, by the key of the sample.
	Samples map[string]Sample
	// Asked is what came last of asking for samples that were not taken yet, by the same key.
	Asked map[string]string
}

// Rollout is an object that has a RolloutPlan.
type Rollout struct {
	Namespace, Name string
	UID             types.UID
	Generation      int64
	// Deleting: the object is being deleted. Finalizer: ours is on it.
	Deleting, Finalizer bool
	Target              rolloutv1alpha1.WorkloadReference
	Source              *rolloutv1alpha1.WorkloadReference
	// Revisions are the application revisions that both stand for; nil for a rollout that names workloads. It can be asked for
	// others before it is known which workloads these stand for.
	Revisions *Revisions
	Plan      rolloutv1alpha1.RolloutPlan
	// RevertOnDelete of the object or of its plan.
	RevertOnDelete bool
	Annotations    map[string]string
	Status         rolloutv1alpha1.RolloutStatus
}

// Revisions are a component of an application in two revisions of that.
type Revisions struct {
	// Source is empty for a change of the size alone.
	Target, Source, Component string
}

// RolloutOf is what every object with a plan and a status tells. Which workloads it is about is for its kind to add.
func RolloutOf(object metav1.Object, plan rolloutv1alpha1.RolloutPlan, status rolloutv1alpha1.RolloutStatus) Rollout {
	return Rollout{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), Generation: object.GetGeneration(),
		Deleting: object.GetDeletionTimestamp() != nil, Finalizer: slices.Contains(object.GetFinalizers(), rolloutv1alpha1.FinalizerRollout),
		Plan: plan, RevertOnDelete: plan.RevertOnDelete, Annotations: object.GetAnnotations(), Status: status,
	}
}

// Workload is what is seen of a workload. Numbers are of pods.
type Workload struct {
	Found bool
	// Unfit tells why a workload of this kind can never be driven as it is asked for; empty when it can.
	Unfit string
	// Versions: the kind holds two versions of its template at once.
	Versions bool
	// Held: this rollout controls it. Owner names the object that controls it otherwise; empty for none.
	Held  bool
	Owner string
	// Unmarked: it is held, and somebody has taken off what others are told of its changes by.
	Unmarked bool
	// Unkept is the path of the field that is to hold back its pods while it is held, when nothing stands there: the server has
	// not kept it. Only for kinds with two versions.
	Unkept string
	// Paused: none of its pods goes on to its newest template. Frozen: nor is it scaled.
	Paused, Frozen bool
	// Going: it is being deleted.
	Going bool
	// Busy is what it is in the middle of, other than what a rollout has asked it for: "scaling from 3 to 5"; empty for nothing.
	Busy string
	// Stuck: that is an update of its own which may never end, for it has pods that are not ready, or is paused in it. The rollout may
	// be the fix.
	Stuck bool
	// Surge is how many of Pods that update has beyond Replicas. They go with it.
	Surge int
	// Seen: its own controller has seen what it is asked for.
	Seen bool
	// Template identifies its pod template.
	Template string
	// Replicas is what it is asked for, and Pods how many there are that have not ended.
	Replicas, Pods int
	// Ready and Available are of all pods.
	Ready, Available int
	// Others is by how much others have changed Replicas while this rollout held it.
	Others int
	// Asked is how many pods may be on the newest template; Updated are, and UpdatedAvailable of these are available. Only
	// for kinds with two versions.
	Asked, Updated, UpdatedAvailable int
	// Differs: pods on the newest template and pods that are not are told apart, and there are, or may be, some of the others.
	Differs bool
	// Waits says what the pods wait for, for people: "pod web-3 pulls its image"; empty when it is not known.
	Waits string
	// Remedy is what a person can do about an update of its own that may never end; empty for one that goes on, and for none.
	Remedy string
	// Before is what stood in it when this rollout claimed it.
	Before Before
}

// Before is what stood in a workload when it was claimed.
type Before struct {
	// Replicas it was asked for.
	Replicas int
	// Template identifies the pod template that all pods had, or most. Empty when there was none.
	Template string
	// Known: that template can be brought back. Why says why not.
	Known bool
	Why   string
	// Back: this rollout has brought that template back. Another one that stands there is of somebody since.
	Back bool
}

// Call is what is known of the call of a webhook.
type Call struct {
	// Answered: it has passed or rejected. Otherwise it is under way, or tried again.
	Answered, Passed bool
	// Attempts is how many times it was delivered.
	Attempts int
	// Message says what was answered last.
	Message string
}

// Sample is what came of asking for a metric once.
type Sample struct {
	measure.Sample
	// At is when it was taken.
	At time.Time
}

// Looks are the workloads to look at: those that are held, or about to be, also when the spec names others by now.
func (r *Rollout) Looks() (target rolloutv1alpha1.WorkloadReference, source *rolloutv1alpha1.WorkloadReference) {
	if running := r.Status.Running; running != nil && !r.Status.RollingState.IsFinal() {
		return running.TargetRef, running.SourceRef
	}
	return r.Target, r.Source
}
