// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutStatus is what was observed of a rollout, and how far it is.
type RolloutStatus struct {
	// Conditions of the rollout: one for each state that it goes through, and Paused, Ready and Stalled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// RolloutOriginalSize is how many pods there were when the rollout began.
	// +optional
	RolloutOriginalSize int32 `json:"rolloutOriginalSize,omitempty"`

	// RolloutTargetSize is how many pods there are to be in the end, or -1 when that is not known yet.
	// +optional
	RolloutTargetSize int32 `json:"rolloutTargetSize,omitempty"`

	// NewPodTemplateIdentifier is a hash of the pod template that is rolled out.
	// +optional
	NewPodTemplateIdentifier string `json:"targetGeneration,omitempty"`

	// LastAppliedPodTemplateIdentifier is a hash of the pod template that the last rollout which succeeded has rolled out.
	// +optional
	LastAppliedPodTemplateIdentifier string `json:"lastAppliedPodTemplateIdentifier,omitempty"`

	// RollingState is what the rollout is doing.
	// +optional
	RollingState RollingState `json:"rollingState"`

	// BatchRollingState is what the current batch is doing. It means something in the state rollingInBatches, and in
	// rolloutFailing while batches are reverted.
	// +optional
	BatchRollingState BatchRollingState `json:"batchRollingState"`

	// CurrentBatch is the number of the current batch, from 0.
	// +optional
	CurrentBatch int32 `json:"currentBatch"`

	// UpgradedReplicas is how many pods are on the new version. For a scale it is how many have been added or removed.
	// +optional
	UpgradedReplicas int32 `json:"upgradedReplicas"`

	// UpgradedReadyReplicas is how many of them are available.
	// +optional
	UpgradedReadyReplicas int32 `json:"upgradedReadyReplicas"`

	// RevertedReplicas is how many pods serve as before, while a rollout is reverted: on the template from before, of the source, or
	// of those that a scale has added or removed.
	// +optional
	RevertedReplicas int32 `json:"revertedReplicas,omitempty"`

	// LastProgressTime is when something last went on, or when that changed which is waited for.
	// +optional
	LastProgressTime *metav1.Time `json:"lastProgressTime,omitempty"`

	// StillSeconds is how long nothing had gone on while pods were waited for, before lastProgressTime. The progress deadline counts it
	// as used up; it is 0 again with the next progress.
	// +optional
	StillSeconds int64 `json:"stillSeconds,omitempty"`

	// Reached is the most that upgradedReplicas and upgradedReadyReplicas have been together since the clock of the progress deadline
	// began; in a revert it counts what is back. To come back to it after a fall is no progress.
	// +optional
	Reached int64 `json:"reached,omitempty"`

	// Message says in one sentence what the rollout does now, or what it waits for.
	// +optional
	Message string `json:"message,omitempty"`

	// WaitingFor says what it is that the rollout waits for. Only waiting for Pods counts for the progress deadline.
	// +optional
	WaitingFor WaitingFor `json:"waitingFor,omitempty"`

	// Run is how many times a rollout has begun, this one included.
	// +optional
	Run int64 `json:"run,omitempty"`

	// Attempt is how many times this run was taken up again after a failure that it waited at.
	// +optional
	Attempt int64 `json:"attempt,omitempty"`

	// Running is the rollout as it was asked for when it began. Batches that are behind us stay as they were.
	// +optional
	Running *RunningRollout `json:"running,omitempty"`

	// Unfinished is the rollout of two objects before this one, when that has ended in the middle: both have pods then, and who goes
	// on, or back, takes them all along.
	// +optional
	Unfinished *UnfinishedRollout `json:"unfinished,omitempty"`

	// Failure is what went wrong: it stays until the rollout is taken up again.
	// +optional
	Failure *RolloutFailure `json:"failure,omitempty"`

	// Ending is what the states rolloutFailing, rolloutAbandoning and rolloutDeleting do before they let go.
	// +optional
	Ending RolloutEnding `json:"ending,omitempty"`

	// LastInstanceTime is when the last pod of a batch with an instanceInterval began.
	// +optional
	LastInstanceTime *metav1.Time `json:"lastInstanceTime,omitempty"`

	// Hooks are the webhooks of the current step that have answered.
	// +listType=map
	// +listMapKey=key
	// +optional
	Hooks []HookStatus `json:"hooks,omitempty"`

	// Metrics are what was measured for the current batch.
	// +listType=map
	// +listMapKey=name
	// +optional
	Metrics []MetricStatus `json:"metrics,omitempty"`
}

// RollingState is a state of a rollout.
//
// +kubebuilder:validation:Enum="";locatingTargetApp;verifyingSpec;initializing;rollingInBatches;finalising;rolloutSucceed;rolloutFailing;rolloutFailed;rolloutAbandoning;rolloutDeleting
type RollingState string

// The states of a rollout. docs/states/rollout.svg shows how they follow each other.
const (
	// LocatingTargetAppState looks for the workloads.
	LocatingTargetAppState RollingState = "locatingTargetApp"
	// VerifyingSpecState checks whether the plan can be carried out.
	VerifyingSpecState RollingState = "verifyingSpec"
	// InitializingState calls the first webhooks and claims the workloads.
	InitializingState RollingState = "initializing"
	// RollingInBatchesState goes through the batches: see BatchRollingState.
	RollingInBatchesState RollingState = "rollingInBatches"
	// FinalisingState lets go of the workloads and calls the last webhooks.
	FinalisingState RollingState = "finalising"
	// RolloutSucceedState is final.
	RolloutSucceedState RollingState = "rolloutSucceed"
	// RolloutFailingState reverts if asked for, lets go of the workloads and calls the last webhooks.
	RolloutFailingState RollingState = "rolloutFailing"
	// RolloutFailedState is final.
	RolloutFailedState RollingState = "rolloutFailed"
	// RolloutAbandoningState lets go of workloads that something newer has been asked for instead of.
	RolloutAbandoningState RollingState = "rolloutAbandoning"
	// RolloutDeletingState reverts if asked for, and lets go of the workloads before the object goes.
	RolloutDeletingState RollingState = "rolloutDeleting"
)

// BatchRollingState is a state of the current batch.
//
// +kubebuilder:validation:Enum="";batchInitializing;batchInRolling;batchVerifying;batchVerifyFailed;batchFinalizing;batchReady
type BatchRollingState string

// The states of a batch.
const (
	// BatchInitializingState calls the webhooks before the batch.
	BatchInitializingState BatchRollingState = "batchInitializing"
	// BatchInRollingState sets the size of the batch on the workload.
	BatchInRollingState BatchRollingState = "batchInRolling"
	// BatchVerifyingState waits for pods to be available and for metrics to be in range.
	BatchVerifyingState BatchRollingState = "batchVerifying"
	// BatchVerifyFailedState waits for a person, after a deadline was missed or a metric has failed.
	BatchVerifyFailedState BatchRollingState = "batchVerifyFailed"
	// BatchFinalizingState calls the webhooks after the batch.
	BatchFinalizingState BatchRollingState = "batchFinalizing"
	// BatchReadyState waits until the next batch may begin.
	BatchReadyState BatchRollingState = "batchReady"
)

// WaitingFor is what a rollout waits for.
//
// +kubebuilder:validation:Enum="";Workload;Pods;Interval;Webhook;Metric;Partition;Pause;Person
type WaitingFor string

const (
	// WaitingForWorkload waits for workloads to appear, or to end what they are in the middle of.
	WaitingForWorkload WaitingFor = "Workload"
	// WaitingForPods waits for pods to be updated, available or gone.
	WaitingForPods WaitingFor = "Pods"
	// WaitingForInterval waits until the next pod of a batch with an instanceInterval may begin.
	WaitingForInterval WaitingFor = "Interval"
	// WaitingForWebhook waits for the answer of a webhook.
	WaitingForWebhook WaitingFor = "Webhook"
	// WaitingForMetric waits for the next sample.
	WaitingForMetric WaitingFor = "Metric"
	// WaitingAtPartition waits for batchPartition to let the next batch begin.
	WaitingAtPartition WaitingFor = "Partition"
	// WaitingForUnpause waits for paused to be false.
	WaitingForUnpause WaitingFor = "Pause"
	// WaitingForPerson waits at a failure, by the failurePolicy Pause.
	WaitingForPerson WaitingFor = "Person"
)

// RolloutMode is what kind of change a rollout makes.
//
// +kubebuilder:validation:Enum=Scale;InPlace;TwoObjects
type RolloutMode string

const (
	// ScaleMode changes the number of pods of one object.
	ScaleMode RolloutMode = "Scale"
	// InPlaceMode takes the pods of one object to its newer template.
	InPlaceMode RolloutMode = "InPlace"
	// TwoObjectsMode grows one object while it shrinks another.
	TwoObjectsMode RolloutMode = "TwoObjects"
)

// RunningRollout is what a rollout was asked for when it began.
type RunningRollout struct {
	// Mode is what kind of change it makes; empty for one that found nothing to do.
	// +optional
	Mode RolloutMode `json:"mode,omitempty"`

	// TargetRef is the newer workload.
	TargetRef WorkloadReference `json:"targetRef"`

	// SourceRef is the older workload; absent where there is one only.
	// +optional
	SourceRef *WorkloadReference `json:"sourceRef,omitempty"`

	// TargetAppRevision is the application revision that the target is of, of a rollout that names revisions.
	// +optional
	TargetAppRevision string `json:"targetAppRevision,omitempty"`

	// SourceAppRevision is the application revision that is deployed when the rollout begins; absent for a change of the size.
	// +optional
	SourceAppRevision string `json:"sourceAppRevision,omitempty"`

	// Component is the component of the application that is rolled out.
	// +optional
	Component string `json:"component,omitempty"`

	// TargetSize is the targetSize of the plan.
	// +optional
	TargetSize *int32 `json:"targetSize,omitempty"`

	// Total is how many pods the batches divide, as it was when the rollout began.
	// +optional
	Total int32 `json:"total,omitempty"`

	// RolloutBatches are all batches, each with what it takes and how many may be unavailable; a rollout that has numBatches
	// only has them written out.
	// +listType=atomic
	// +optional
	RolloutBatches []RunningBatch `json:"rolloutBatches,omitempty"`
}

// UnfinishedRollout is a rollout of two objects that has ended in the middle.
type UnfinishedRollout struct {
	// TargetRef is the newer workload, and SourceRef the older one.
	TargetRef WorkloadReference `json:"targetRef"`
	SourceRef WorkloadReference `json:"sourceRef"`

	// Size is how many pods there were to be in the end.
	Size int32 `json:"size"`
}

// RunningBatch is a batch of a running rollout. Its webhooks and metrics are read from the spec.
type RunningBatch struct {
	// Replicas is how many pods the batch has; absent in a last batch that takes what is left.
	// +kubebuilder:validation:XIntOrString
	// +optional
	Replicas *intstr.IntOrString `json:"replicas,omitempty"`

	// MaxUnavailable is how many of the updated pods may be unavailable when the batch is done.
	// +kubebuilder:validation:XIntOrString
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// InstanceInterval is how many seconds pass between two pods of the batch.
	// +optional
	InstanceInterval *int32 `json:"instanceInterval,omitempty"`
}

// RolloutFailure is what a rollout could not go on for.
type RolloutFailure struct {
	// Reason is one word for programs.
	Reason string `json:"reason"`

	// Message is a sentence for people.
	Message string `json:"message"`

	// Generation is the metadata.generation at which it happened. A newer one takes up a rollout that waits for a person.
	// +optional
	Generation int64 `json:"generation,omitempty"`
}

// RolloutEnding is what is done before a workload is let go.
//
// +kubebuilder:validation:Enum="";Leave;Revert
type RolloutEnding string

const (
	// LeaveEnding leaves the pods as they are.
	LeaveEnding RolloutEnding = "Leave"
	// RevertEnding brings back what was before.
	RevertEnding RolloutEnding = "Revert"
)

// HookStatus is the answer of a webhook.
type HookStatus struct {
	// Key is the same for each delivery of the same call, and different for each call.
	Key string `json:"key"`

	// Name of the webhook.
	Name string `json:"name"`

	// Passed tells whether it lets the rollout pass; otherwise it has rejected it.
	Passed bool `json:"passed"`

	// Message says what was answered.
	// +optional
	Message string `json:"message,omitempty"`
}

// MetricStatus is what was measured for one metric.
type MetricStatus struct {
	// Name of the metric.
	Name string `json:"name"`

	// Value is the newest sample, as a decimal number; empty when the query gave none.
	// +optional
	Value string `json:"value,omitempty"`

	// LastSampleTime is when the newest sample was taken.
	// +optional
	LastSampleTime *metav1.Time `json:"lastSampleTime,omitempty"`

	// InRange is how many samples in a row were in the range, up to the newest one.
	// +optional
	InRange int32 `json:"inRange,omitempty"`

	// OutOfRange is how many samples were not.
	// +optional
	OutOfRange int32 `json:"outOfRange,omitempty"`

	// Message says what came instead of a sample.
	// +optional
	Message string `json:"message,omitempty"`
}

// Conditions of a rollout. Those that speak of one state are True when it was left well, Unknown while the rollout is in it,
// and False when it failed there.
const (
	// ConditionLocated speaks of locatingTargetApp.
	ConditionLocated = "TargetLocated"
	// ConditionVerified speaks of verifyingSpec.
	ConditionVerified = "SpecVerified"
	// ConditionInitialized speaks of initializing.
	ConditionInitialized = "Initialized"
	// ConditionBatchInitialized speaks of batchInitializing of the current batch.
	ConditionBatchInitialized = "BatchInitialized"
	// ConditionBatchRolled speaks of batchInRolling of the current batch.
	ConditionBatchRolled = "BatchRolled"
	// ConditionBatchVerified speaks of batchVerifying and batchVerifyFailed of the current batch.
	ConditionBatchVerified = "BatchVerified"
	// ConditionBatchFinalized speaks of batchFinalizing of the current batch.
	ConditionBatchFinalized = "BatchFinalized"
	// ConditionBatchReady speaks of batchReady of the current batch.
	ConditionBatchReady = "BatchReady"
	// ConditionRolled speaks of rollingInBatches.
	ConditionRolled = "Rolled"
	// ConditionFinalised speaks of finalising.
	ConditionFinalised = "Finalised"
	// ConditionSucceeded speaks of rolloutSucceed.
	ConditionSucceeded = "Succeeded"
	// ConditionFailing speaks of rolloutFailing.
	ConditionFailing = "Failing"
	// ConditionFailed speaks of rolloutFailed.
	ConditionFailed = "Failed"
	// ConditionAbandoning speaks of rolloutAbandoning.
	ConditionAbandoning = "Abandoning"
	// ConditionDeleting speaks of rolloutDeleting.
	ConditionDeleting = "Deleting"

	// ConditionPaused is True while nothing new begins because a person has paused the rollout, and False otherwise.
	ConditionPaused = "Paused"
	// ConditionReady is True when the rollout has succeeded.
	ConditionReady = "Ready"
	// ConditionStalled is True while nothing goes on without a person; the message names what to change.
	ConditionStalled = "Stalled"
)
