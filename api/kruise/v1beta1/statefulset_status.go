// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StatefulSetStatus is what the controller has seen. The counters are over all pods of the set, also over those whose
// ordinal is no longer wanted.
type StatefulSetStatus struct {
	// ObservedGeneration is the metadata.generation that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of pods that exist, also finished ones and those being deleted.
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is how many of them run and are ready, whatever their lifecycle state is.
	ReadyReplicas int32 `json:"readyReplicas"`

	// AvailableReplicas is how many have been ready for minReadySeconds and are in lifecycle state Normal.
	AvailableReplicas int32 `json:"availableReplicas"`

	// CurrentReplicas is how many are on the current revision and not being deleted.
	CurrentReplicas int32 `json:"currentReplicas"`

	// UpdatedReplicas is how many are on the update revision and not being deleted.
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// UpdatedReadyReplicas is how many are on the update revision and ready.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`

	// UpdatedAvailableReplicas is how many are on the update revision and available.
	// +optional
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas,omitempty"`

	// CurrentRevision is the name of the last revision that reached all pods.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// UpdateRevision is the name of the revision of spec.template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// CollisionCount goes into the hash of revision names, so that a name that is already taken is not tried again.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// Conditions say how a release goes, and what holds it up.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []StatefulSetCondition `json:"conditions,omitempty"`

	// LabelSelector is spec.selector as a string, for autoscalers.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`

	// VolumeClaims tells for each claim template how far the claims follow it.
	// +optional
	VolumeClaims []VolumeClaimStatus `json:"volumeClaims,omitempty"`
}

// VolumeClaimStatus tells how far the claims of one template follow it.
type VolumeClaimStatus struct {
	// VolumeClaimName is the name of the claim template.
	VolumeClaimName string `json:"volumeClaimName"`

	// CompatibleReplicas is how many wanted pods have a claim that is as the template says, and at least as large.
	CompatibleReplicas int32 `json:"compatibleReplicas"`

	// CompatibleReadyReplicas is for how many of them the volume has grown to what the claim asks for.
	CompatibleReadyReplicas int32 `json:"compatibleReadyReplicas"`
}

// StatefulSetConditionType is the type of a condition of a StatefulSet.
type StatefulSetConditionType string

const (
	// StatefulSetConditionReady is True while the spec is reached: all replicas are available and as many are updated as
	// the partition asks for. False says how far the set is and what it waits for. Not written by other publishers.
	StatefulSetConditionReady StatefulSetConditionType = "Ready"
	// StatefulSetConditionStalled is True while nothing goes on without a person; the message names what to change. Not
	// written by other publishers.
	StatefulSetConditionStalled StatefulSetConditionType = "Stalled"
	// StatefulSetConditionFailedCreatePod is True after a pod or claim could not be created, until one can.
	StatefulSetConditionFailedCreatePod StatefulSetConditionType = "FailedCreatePod"
	// StatefulSetConditionFailedUpdatePod is True after a pod could not be updated, until one can.
	StatefulSetConditionFailedUpdatePod StatefulSetConditionType = "FailedUpdatePod"
)

// StatefulSetCondition is one aspect of the state of a StatefulSet.
type StatefulSetCondition struct {
	// Type of the condition; each type stands at most once in the list.
	Type StatefulSetConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// LastTransitionTime is when the status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`

	// Reason is one word for programs; empty for FailedCreatePod and FailedUpdatePod.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}
