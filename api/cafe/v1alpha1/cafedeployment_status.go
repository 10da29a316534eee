// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The lists of groups and units have one writer. They are atomic: to keep the owner of each entry would cost the server a third of
// what the write of a large status costs.

// CafeDeploymentStatus is what the controller has seen. The counters are sums over the pod sets of all units.
type CafeDeploymentStatus struct {
	// ObservedGeneration is the metadata.generation that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of pods.
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is how many of them are ready.
	ReadyReplicas int32 `json:"readyReplicas"`

	// AvailableReplicas is how many have been ready for minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas"`

	// UpdatedReplicas is how many are on the update revision.
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// UpdatedAvailableReplicas is how many are on the update revision and available.
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas"`

	// CurrentRevision is the name of the last revision that reached all pods.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// UpdateRevision is the name of the revision of spec.template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// CollisionCount goes into the hash of revision names, so that a name that is already taken is not tried again.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// LabelSelector is spec.selector as a string, for autoscalers.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`

	// Phase is where the release stands.
	// +optional
	Phase CafeDeploymentPhase `json:"phase,omitempty"`

	// CurrentGroup is the index of the group that is on its way or waits to begin; 0 when there is none.
	// +optional
	CurrentGroup int32 `json:"currentGroup,omitempty"`

	// Groups are the groups of the release or scale-up that goes on, in their order. Those of the last one stay until the next
	// begins.
	// +listType=atomic
	// +optional
	Groups []ReleaseGroup `json:"groups,omitempty"`

	// Units tell of each unit, in the order of topology.values; units that are on their way out come last.
	// +listType=atomic
	// +optional
	Units []UnitStatus `json:"units,omitempty"`

	// RescheduledFor is a hash of the replicas, topology and template that quota was moved for. When they change, all
	// moves are void, and the units get their split again.
	// +optional
	RescheduledFor string `json:"rescheduledFor,omitempty"`

	// Conditions say how a release goes, and what holds it up.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
}

// CafeDeploymentPhase is where a release stands.
//
// +kubebuilder:validation:Enum=Stable;Progressing;WaitingForConfirm;Paused;Blocked
type CafeDeploymentPhase string

const (
	// StablePhase: all pods are there, on the update revision and available.
	StablePhase CafeDeploymentPhase = "Stable"
	// ProgressingPhase: a group is on its way.
	ProgressingPhase CafeDeploymentPhase = "Progressing"
	// WaitingForConfirmPhase: a group waits for a person.
	WaitingForConfirmPhase CafeDeploymentPhase = "WaitingForConfirm"
	// PausedPhase: strategy.pause keeps the next group from its beginning.
	PausedPhase CafeDeploymentPhase = "Paused"
	// BlockedPhase: nothing goes on without a person; the conditions say why.
	BlockedPhase CafeDeploymentPhase = "Blocked"
)

// GroupKind says what a group is.
//
// +kubebuilder:validation:Enum=Beta;Batch
type GroupKind string

const (
	// BetaGroup is one pod in each unit that has something to do.
	BetaGroup GroupKind = "Beta"
	// BatchGroup is up to batchSize pods over all units.
	BatchGroup GroupKind = "Batch"
)

// ReleaseGroup is one group of a release or of a scale-up.
type ReleaseGroup struct {
	// Index counts the groups from 1.
	Index int32 `json:"index"`

	// Kind is what the group is.
	Kind GroupKind `json:"kind"`

	// Units are the pods that the group takes in each unit, in the order of topology.values. Units with none are left
	// out.
	// +listType=atomic
	// +optional
	Units []GroupQuota `json:"units,omitempty"`

	// Done: all pods of the group are available on their version.
	Done bool `json:"done"`
}

// GroupQuota is the part of a group that falls to one unit.
type GroupQuota struct {
	// Name of the unit; empty for the one pod set of unitType None.
	Name string `json:"name"`

	// Pods is how many pods the group takes there.
	Pods int32 `json:"pods"`

	// New is how many of them are brought up; the others are updated.
	// +optional
	New int32 `json:"new,omitempty"`
}

// UnitStatus tells of one unit.
type UnitStatus struct {
	// Name of the unit; empty for the one pod set of unitType None.
	Name string `json:"name"`

	// Desired is how many pods the unit shall have in the end: its split, and what was moved here or away.
	Desired int32 `json:"desired"`

	// Replicas, Ready, Available, Updated and UpdatedAvailable count the pods of the unit as the status counts them.
	Replicas int32 `json:"replicas"`
	// Ready is how many pods are ready.
	Ready int32 `json:"ready"`
	// Available is how many pods are available.
	Available int32 `json:"available"`
	// Updated is how many pods are on the update revision.
	Updated int32 `json:"updated"`
	// UpdatedAvailable is how many pods are on the update revision and available.
	UpdatedAvailable int32 `json:"updatedAvailable"`

	// Partition is how many pods the unit is told to keep on older revisions.
	Partition int32 `json:"partition"`

	// PodSet is the name of the pod set; of ReplicaSets, the one of the update revision.
	// +optional
	PodSet string `json:"podSet,omitempty"`

	// RescheduledIn is how many pods were moved here from other units.
	// +optional
	RescheduledIn int32 `json:"rescheduledIn,omitempty"`

	// RescheduledOut is how many pods were moved to other units.
	// +optional
	RescheduledOut int32 `json:"rescheduledOut,omitempty"`

	// RescheduledAt is when pods were last moved here. They are not moved again for 300 seconds.
	// +optional
	RescheduledAt *metav1.Time `json:"rescheduledAt,omitempty"`

	// Short is how many of its pods have found no node for longer than autoReschedule.initialDelaySeconds.
	// +optional
	Short int32 `json:"short,omitempty"`

	// ShortUntil is how long the unit counts as short of resources: until then it gets no pods of others.
	// +optional
	ShortUntil *metav1.Time `json:"shortUntil,omitempty"`
}
