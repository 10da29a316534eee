// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionType is the type of a condition of an InPlaceSet or a CafeDeployment.
type ConditionType string

// Conditions of both kinds.
const (
	// ConditionReady is True while the spec is reached. False says how far the object is and what it waits for.
	ConditionReady ConditionType = "Ready"
	// ConditionStalled is True while nothing goes on without a person; the message names what to change.
	ConditionStalled ConditionType = "Stalled"
)

// Conditions of an InPlaceSet.
const (
	// ConditionWaitingForTraffic is True while pods wait for components that route traffic, either to let go of them or to
	// take them on; the message names the components and the pods.
	ConditionWaitingForTraffic ConditionType = "WaitingForTraffic"
	// ConditionFailedScale is True after a pass that could not create or delete a pod.
	ConditionFailedScale ConditionType = "FailedScale"
	// ConditionFailedUpdate is True after a pass that could not update a pod.
	ConditionFailedUpdate ConditionType = "FailedUpdate"
)

// Conditions of a CafeDeployment.
const (
	// ConditionTopologyValid is False while unitReplicas cannot be met; the message says the numbers.
	ConditionTopologyValid ConditionType = "TopologyValid"
	// ConditionProgressing is True while a release or a scaling goes on.
	ConditionProgressing ConditionType = "Progressing"
	// ConditionAvailable is True while no unit has fewer available pods than its release leaves it.
	ConditionAvailable ConditionType = "Available"
	// ConditionWaitingForConfirm is True while a group waits for a person; the message says which one.
	ConditionWaitingForConfirm ConditionType = "WaitingForConfirm"
)

// Condition is one aspect of the state of an object.
type Condition struct {
	// Type of the condition; each type stands at most once in the list.
	Type ConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// ObservedGeneration is the metadata.generation that the condition was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// LastTransitionTime is when the status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`

	// Reason is one word for programs.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}
