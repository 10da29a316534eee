// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DefaultCloneSetMaxUnavailable is what an absent updateStrategy.maxUnavailable means.
const DefaultCloneSetMaxUnavailable = "20%"

// CloneSet keeps a number of interchangeable pods, each with a random id and its own claims if asked for, and
// releases a new version of their template in place where a pod can be kept, bounded by partition, maxUnavailable
// and maxSurge.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:resource:shortName=clone
// +kubebuilder:printcolumn:name="DESIRED",type=integer,JSONPath=`.spec.replicas`,description="Pods wanted"
// +kubebuilder:printcolumn:name="UPDATED",type=integer,JSONPath=`.status.updatedReplicas`,description="Pods on the update revision"
// +kubebuilder:printcolumn:name="UPDATED_READY",type=integer,JSONPath=`.status.updatedReadyReplicas`,description="Pods on the update revision that are ready"
// +kubebuilder:printcolumn:name="UPDATED_AVAILABLE",type=integer,JSONPath=`.status.updatedAvailableReplicas`,description="Pods on the update revision that are available"
// +kubebuilder:printcolumn:name="READY",type=integer,JSONPath=`.status.readyReplicas`,description="Pods that are ready"
// +kubebuilder:printcolumn:name="TOTAL",type=integer,JSONPath=`.status.replicas`,description="Pods that exist and are active"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
// +kubebuilder:printcolumn:name="CONTAINERS",type=string,priority=1,JSONPath=`.spec.template.spec.containers[*].name`,description="Containers of the template"
// +kubebuilder:printcolumn:name="IMAGES",type=string,priority=1,JSONPath=`.spec.template.spec.containers[*].image`,description="Images of the template"
// +kubebuilder:printcolumn:name="SELECTOR",type=string,priority=1,JSONPath=`.status.labelSelector`,description="Selector of the pods"
type CloneSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CloneSetSpec   `json:"spec"`
	Status CloneSetStatus `json:"status,omitempty"`
}

// CloneSetList is a list of CloneSets.
//
// +kubebuilder:object:root=true
type CloneSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CloneSet `json:"items"`
}

// CloneSetSpec is what the user wants.
//
// +kubebuilder:validation:XValidation:rule="self.replicas == 0 || !string(self.updateStrategy.maxUnavailable).matches('^[0.]+%?$') || !string(self.updateStrategy.maxSurge).matches('^[0.]+%?$')",message="must not be zero together with maxSurge while replicas is above 0, as no pod could then be updated",fieldPath=".updateStrategy.maxUnavailable"
// +kubebuilder:validation:XValidation:rule="!has(self.progressDeadlineSeconds) || self.progressDeadlineSeconds == 2147483647 || self.progressDeadlineSeconds > self.minReadySeconds",messageExpression="'must be greater than minReadySeconds, which is %d, and is %d; leave it out, or use 2147483647, for no deadline'.format([self.minReadySeconds, self.progressDeadlineSeconds])",message="must be greater than minReadySeconds",fieldPath=".progressDeadlineSeconds"
type CloneSetSpec struct {
	// Replicas is the number of pods wanted. Minimum 0, default 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Selector finds the pods of this CloneSet. It must match the labels of the template, must not be empty, and
	// can never be changed.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels : {}) == (has(oldSelf.matchLabels) ? oldSelf.matchLabels : {}) && (has(self.matchExpressions) ? self.matchExpressions : []) == (has(oldSelf.matchExpressions) ? oldSelf.matchExpressions : [])",message="must not be changed: a CloneSet keeps its selector for life"
	Selector *metav1.LabelSelector `json:"selector"`

	// Template describes the pods. Any change in meaning makes a new revision, which is then released.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Template corev1.PodTemplateSpec `json:"template"`

	// VolumeClaimTemplates gives every pod one claim per entry. They can be changed; new pods get the new claims, and
	// no revision is made.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`

	// ScaleStrategy bounds and directs the creation and deletion of pods.
	// +kubebuilder:default={}
	// +optional
	ScaleStrategy CloneSetScaleStrategy `json:"scaleStrategy,omitempty"`

	// UpdateStrategy says how a new revision reaches the pods.
	// +kubebuilder:default={}
	// +optional
	UpdateStrategy CloneSetUpdateStrategy `json:"updateStrategy,omitempty"`

	// RevisionHistoryLimit is the number of revisions kept that no pod uses. Minimum 0, default 10.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=10
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// MinReadySeconds is how many seconds a pod must be ready before it counts as available. Minimum 0, default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=0
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// ProgressDeadlineSeconds is how many seconds a release may go on before condition Progressing turns False. It must be
	// greater than minReadySeconds. Absent, or 2147483647, means no deadline. The release itself goes on in any case.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// Lifecycle lets other controllers hold back deletions, in-place updates and the start of service, pod by pod.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
}

// CloneSetScaleStrategy bounds and directs the creation and deletion of pods.
type CloneSetScaleStrategy struct {
	// PodsToDelete names pods to delete first; while replicas stays the same, they are replaced. The controller removes
	// names that no longer exist.
	// +listType=set
	// +optional
	PodsToDelete []string `json:"podsToDelete,omitempty"`

	// MaxUnavailable bounds the creation of pods: no pod is created while this many pods are unavailable. A number, or a
	// percentage of replicas, rounded up. Absent means no bound.
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? 0 <= self && self <= 2147483647 : self.matches('^[0-9]+([.][0-9]+)?%$')",message="must be a whole number from 0 to 2147483647, or a percentage such as 25% or 12.5%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// DisablePVCReuse deletes the claims of a pod that disappeared, instead of giving them to its replacement.
	// Default false.
	// +kubebuilder:default=false
	// +optional
	DisablePVCReuse bool `json:"disablePVCReuse,omitempty"`
}

// CloneSetUpdateStrategyType says what happens to a pod that is to get a new revision.
//
// +kubebuilder:validation:Enum=ReCreate;InPlaceIfPossible;InPlaceOnly;OnDelete
type CloneSetUpdateStrategyType string

const (
	// ReCreateCloneSetUpdateStrategyType deletes the pod and creates a new one.
	ReCreateCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "ReCreate"
	// InPlaceIfPossibleCloneSetUpdateStrategyType changes the living pod where the change allows that, and recreates
	// it otherwise.
	InPlaceIfPossibleCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "InPlaceIfPossible"
	// InPlaceOnlyCloneSetUpdateStrategyType changes the living pod, and leaves it alone, with a condition that says so,
	// where the change does not allow that.
	InPlaceOnlyCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "InPlaceOnly"
	// OnDeleteCloneSetUpdateStrategyType updates no pod; pods that are created for other reasons get the new revision as
	// far as the partition allows.
	OnDeleteCloneSetUpdateStrategyType CloneSetUpdateStrategyType = "OnDelete"
)

// CloneSetUpdateStrategy says how a new revision reaches the pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'InPlaceOnly' || !has(self.maxSurge) || string(self.maxSurge).matches('^[0.]+%?$')",messageExpression="'must be 0 when updateStrategy.type is InPlaceOnly, and is %s'.format([self.maxSurge])",message="must be 0 when updateStrategy.type is InPlaceOnly",fieldPath=".maxSurge"
type CloneSetUpdateStrategy struct {
	// Type is what happens to a pod that is to be updated. Default ReCreate.
	// +kubebuilder:default=ReCreate
	// +optional
	Type CloneSetUpdateStrategyType `json:"type,omitempty"`

	// Partition is how many pods stay on older revisions. A number, or a percentage of replicas, rounded up; a percentage
	// below 100% leaves at least one pod to update when replicas is above 1. Default 0: all pods are updated.
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? 0 <= self && self <= 2147483647 : self.matches('^[0-9]+([.][0-9]+)?%$')",message="must be a whole number from 0 to 2147483647, or a percentage such as 25% or 12.5%"
	// +kubebuilder:default=0
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty"`

	// MaxUnavailable is how many pods may be unavailable because of an update, or because available pods are deleted. A
	// number, or a percentage of replicas, rounded up, or down when maxSurge is above 0. Must not be zero together with
	// maxSurge. Default 20%.
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? 0 <= self && self <= 2147483647 : self.matches('^[0-9]+([.][0-9]+)?%$')",message="must be a whole number from 0 to 2147483647, or a percentage such as 25% or 12.5%"
	// +kubebuilder:default="20%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is how many pods above replicas may exist during an update or the replacement of chosen pods. A number,
	// or a percentage of replicas, rounded up. Must be zero for type InPlaceOnly; counts as 0 while paused. Default 0.
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? 0 <= self && self <= 2147483647 : self.matches('^[0-9]+([.][0-9]+)?%$')",message="must be a whole number from 0 to 2147483647, or a percentage such as 25% or 12.5%"
	// +kubebuilder:default=0
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// Paused stops the update of further pods; scaling goes on. Default false.
	// +kubebuilder:default=false
	// +optional
	Paused bool `json:"paused,omitempty"`

	// PriorityStrategy decides which pods are updated first.
	// +optional
	PriorityStrategy *UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`

	// ScatterStrategy spreads pods with given labels over the whole release, instead of updating them in a row.
	// +optional
	ScatterStrategy UpdateScatterStrategy `json:"scatterStrategy,omitempty"`

	// InPlaceUpdateStrategy tunes in-place updates.
	// +optional
	InPlaceUpdateStrategy *InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty"`
}

// UpdatePriorityStrategy decides which pods are updated first, by weight or by order, never by both.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.orderPriority) && size(self.orderPriority) > 0 && has(self.weightPriority) && size(self.weightPriority) > 0)",message="must have only one of orderPriority and weightPriority"
type UpdatePriorityStrategy struct {
	// OrderPriority sorts by a number at the end of a label's value; the first key that a pod has decides.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	OrderPriority []UpdatePriorityOrderTerm `json:"orderPriority,omitempty"`

	// WeightPriority sorts by the sum of the weights of all terms that match a pod, the highest first.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	WeightPriority []UpdatePriorityWeightTerm `json:"weightPriority,omitempty"`
}

// UpdatePriorityOrderTerm is one label to sort by.
type UpdatePriorityOrderTerm struct {
	// OrderedKey is the key of the label. The last integer in its value counts: 10 in "web-10".
	// +kubebuilder:validation:MinLength=1
	OrderedKey string `json:"orderedKey"`
}

// UpdatePriorityWeightTerm gives a weight to pods.
type UpdatePriorityWeightTerm struct {
	// Weight is what a matching pod gains: 0 to 100.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// MatchSelector finds the pods by their labels. Must not be empty.
	MatchSelector metav1.LabelSelector `json:"matchSelector"`
}

// UpdateScatterStrategy is a list of labels whose pods are spread over a release. No pair may stand in it twice.
//
// +kubebuilder:validation:MaxItems=64
// +kubebuilder:validation:XValidation:rule="self.all(t, self.exists_one(u, u.key == t.key && u.value == t.value))",message="must not have the same key and value twice"
type UpdateScatterStrategy []UpdateScatterTerm

// UpdateScatterTerm is one label with its value.
type UpdateScatterTerm struct {
	// Key of the label. Must not be empty.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// Value of the label.
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value"`
}

// InPlaceUpdateStrategy tunes in-place updates.
type InPlaceUpdateStrategy struct {
	// GracePeriodSeconds is how many seconds a pod stays not ready before its containers are changed, so that traffic
	// can leave it. Minimum 0, default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=0
	// +optional
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`
}

// CloneSetStatus is what the controller has seen. All counters count active pods only: pods that are neither finished nor
// being deleted.
type CloneSetStatus struct {
	// ObservedGeneration is the metadata.generation that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of active pods.
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is how many of them are ready, whatever their lifecycle state is.
	ReadyReplicas int32 `json:"readyReplicas"`

	// AvailableReplicas is how many have been ready for minReadySeconds and are in lifecycle state Normal.
	AvailableReplicas int32 `json:"availableReplicas"`

	// UpdatedReplicas is how many are on the update revision.
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// UpdatedReadyReplicas is how many are on the update revision and ready.
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`

	// UpdatedAvailableReplicas is how many are on the update revision and available.
	// +optional
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas,omitempty"`

	// ExpectedUpdatedReplicas is how many pods should be on the update revision: replicas minus partition.
	// +optional
	ExpectedUpdatedReplicas int32 `json:"expectedUpdatedReplicas,omitempty"`

	// UpdateRevision is the name of the revision of spec.template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// CurrentRevision is the name of the last revision that reached all pods.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// CollisionCount goes into the hash of revision names, so that a name that is already taken is not tried again.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// Conditions say how a release goes, and what holds it up.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []CloneSetCondition `json:"conditions,omitempty"`

	// LabelSelector is spec.selector as a string, for autoscalers.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

// CloneSetConditionType is the type of a condition of a CloneSet.
type CloneSetConditionType string

const (
	// CloneSetConditionReady is True while the spec is reached: all replicas are available and as many are updated as
	// the partition asks for. False says how far the set is and what it waits for. Not written by other publishers.
	CloneSetConditionReady CloneSetConditionType = "Ready"
	// CloneSetConditionStalled is True while nothing goes on without a person; the message names what to change. Not
	// written by other publishers.
	CloneSetConditionStalled CloneSetConditionType = "Stalled"
	// CloneSetConditionProgressing tells whether a release gets on; it exists only while progressDeadlineSeconds is set.
	CloneSetConditionProgressing CloneSetConditionType = "Progressing"
	// CloneSetConditionFailedScale is True after a pass that could not create or delete a pod or claim.
	CloneSetConditionFailedScale CloneSetConditionType = "FailedScale"
	// CloneSetConditionFailedUpdate is True after a pass that could not update a pod.
	CloneSetConditionFailedUpdate CloneSetConditionType = "FailedUpdate"
)

// Reasons of CloneSetConditionProgressing.
const (
	// ReasonCloneSetAvailable: all pods are on the update revision and available.
	ReasonCloneSetAvailable = "CloneSetAvailable"
	// ReasonCloneSetPaused: the update is paused.
	ReasonCloneSetPaused = "CloneSetPaused"
	// ReasonProgressPartitionAvailable: all pods that the partition lets through are updated and available.
	ReasonProgressPartitionAvailable = "ProgressPartitionAvailable"
	// ReasonProgressDeadlineExceeded: the release has gone on for longer than progressDeadlineSeconds.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonCloneSetUpdated: the release is under way.
	ReasonCloneSetUpdated = "CloneSetUpdated"
)

// NoProgressDeadline as progressDeadlineSeconds means the same as its absence.
const NoProgressDeadline int32 = 2147483647

// CloneSetCondition is one aspect of the state of a CloneSet.
type CloneSetCondition struct {
	// Type of the condition; each type stands at most once in the list.
	Type CloneSetConditionType `json:"type"`

	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`

	// ObservedGeneration is the metadata.generation that the condition was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// LastUpdateTime is when the status or reason last changed.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`

	// LastTransitionTime is when the status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`

	// Reason is one word for programs; empty for FailedScale and FailedUpdate.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}
