// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// The rule about the name looks at new objects only, which are the ones without a status: names cannot be changed, and older
// objects must stay usable.

// StatefulSet keeps a number of pods that each have an ordinal, a name and claims for life, and releases a new version of
// their template in order or in parallel, in place where a pod can be kept, bounded by partition and maxUnavailable.
// It is a superset of the built-in StatefulSet of apps/v1.
//
// Its name is a DNS label of at most 52 characters, which leaves room for a hash: revisions of pods are labels, too.
//
// +kubebuilder:validation:XValidation:rule="has(self.status) || (self.metadata.name.size() <= 52 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",message="must be a DNS label of at most 52 characters: letters a to z, digits and '-', with a letter or digit at both ends",fieldPath=".metadata.name"
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:resource:shortName=sts;asts
// +kubebuilder:printcolumn:name="DESIRED",type=integer,JSONPath=`.spec.replicas`,description="Pods wanted"
// +kubebuilder:printcolumn:name="CURRENT",type=integer,JSONPath=`.status.replicas`,description="Pods that exist"
// +kubebuilder:printcolumn:name="UPDATED",type=integer,JSONPath=`.status.updatedReplicas`,description="Pods on the update revision"
// +kubebuilder:printcolumn:name="READY",type=integer,JSONPath=`.status.readyReplicas`,description="Pods that are ready"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
// +kubebuilder:printcolumn:name="CONTAINERS",type=string,priority=1,JSONPath=`.spec.template.spec.containers[*].name`,description="Containers of the template"
// +kubebuilder:printcolumn:name="IMAGES",type=string,priority=1,JSONPath=`.spec.template.spec.containers[*].image`,description="Images of the template"
type StatefulSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   StatefulSetSpec   `json:"spec"`
	Status StatefulSetStatus `json:"status,omitempty"`
}

// StatefulSetList is a list of StatefulSets.
//
// +kubebuilder:object:root=true
type StatefulSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []StatefulSet `json:"items"`
}

// StatefulSetSpec is what the user wants.
//
// +kubebuilder:validation:XValidation:rule="self.podManagementPolicy == 'Parallel' || !has(self.updateStrategy.rollingUpdate.maxUnavailable) || self.updateStrategy.rollingUpdate.maxUnavailable == 1",messageExpression="'must be 1 unless podManagementPolicy is Parallel, and is %s'.format([self.updateStrategy.rollingUpdate.maxUnavailable])",message="must be 1 unless podManagementPolicy is Parallel",fieldPath=".updateStrategy.rollingUpdate.maxUnavailable"
// +kubebuilder:validation:XValidation:rule="self.podManagementPolicy == 'Parallel' || !has(self.scaleStrategy) || !has(self.scaleStrategy.maxUnavailable) || self.scaleStrategy.maxUnavailable == 1",messageExpression="'must be 1 unless podManagementPolicy is Parallel, and is %s'.format([self.scaleStrategy.maxUnavailable])",message="must be 1 unless podManagementPolicy is Parallel",fieldPath=".scaleStrategy.maxUnavailable"
// +kubebuilder:validation:XValidation:rule="self.podManagementPolicy == 'Parallel' || !has(self.updateStrategy.rollingUpdate.unorderedUpdate)",message="must not be set unless podManagementPolicy is Parallel",fieldPath=".updateStrategy.rollingUpdate.unorderedUpdate",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`(has(self.serviceName) ? self.serviceName : "") == (has(oldSelf.serviceName) ? oldSelf.serviceName : "")`,message="must not be changed: it is part of the DNS names of the pods",fieldPath=".serviceName"
type StatefulSetSpec struct {
	// Replicas is the number of pods wanted. Minimum 0, default 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Selector finds the pods of this StatefulSet. It must match the labels of the template, must not be empty, and
	// can never be changed.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels : {}) == (has(oldSelf.matchLabels) ? oldSelf.matchLabels : {}) && (has(self.matchExpressions) ? self.matchExpressions : []) == (has(oldSelf.matchExpressions) ? oldSelf.matchExpressions : [])",message="must not be changed: a StatefulSet keeps its selector for life"
	Selector *metav1.LabelSelector `json:"selector"`

	// Template describes the pods. Any change in meaning makes a new revision, which is then released.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Template corev1.PodTemplateSpec `json:"template"`

	// VolumeClaimTemplates gives every ordinal one claim per entry, which outlives its pod. They can be changed, and no
	// revision is made; VolumeClaimUpdateStrategy says what that does to claims that exist.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`

	// VolumeClaimUpdateStrategy says what a change of VolumeClaimTemplates does to claims that exist.
	// +kubebuilder:default={}
	// +optional
	VolumeClaimUpdateStrategy VolumeClaimUpdateStrategy `json:"volumeClaimUpdateStrategy,omitempty"`

	// ServiceName becomes the subdomain of the pods; a headless Service of this name gives each of them a DNS name. Whether
	// that Service exists is not checked. Can never be changed. Default: none.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// PodManagementPolicy says whether pods wait for one another. Can never be changed. Default OrderedReady.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",messageExpression="'must not be changed, and was ' + oldSelf",message="must not be changed"
	// +kubebuilder:default=OrderedReady
	// +optional
	PodManagementPolicy PodManagementPolicyType `json:"podManagementPolicy,omitempty"`

	// UpdateStrategy says how a new revision reaches the pods.
	// +kubebuilder:default={}
	// +optional
	UpdateStrategy StatefulSetUpdateStrategy `json:"updateStrategy,omitempty"`

	// RevisionHistoryLimit is the number of revisions kept that no pod uses. Minimum 0, default 10.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=10
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// ReserveOrdinals are ordinals that no pod gets: numbers, and ranges such as "3-5", both ends included, of at most ten digits
	// each. From 0 to 2147483647, at most 2048 entries, in any order; entries may overlap.
	// Replicas stays the number of pods, so a pod of a reserved ordinal moves to the next free one.
	// +optional
	ReserveOrdinals []intstr.IntOrString `json:"reserveOrdinals,omitempty"`

	// Lifecycle lets other controllers hold back deletions, in-place updates and the start of service, pod by pod.
	// +optional
	Lifecycle *kruisev1alpha1.Lifecycle `json:"lifecycle,omitempty"`

	// ScaleStrategy bounds the creation of pods. Absent means no bound.
	// +optional
	ScaleStrategy *StatefulSetScaleStrategy `json:"scaleStrategy,omitempty"`

	// PersistentVolumeClaimRetentionPolicy says when claims are deleted. Absent means never.
	// +kubebuilder:default={}
	// +optional
	PersistentVolumeClaimRetentionPolicy *StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`

	// Ordinals says where the ordinals begin. Absent means at 0.
	// +optional
	Ordinals *StatefulSetOrdinals `json:"ordinals,omitempty"`
}

// PodManagementPolicyType says whether pods wait for one another.
//
// +kubebuilder:validation:Enum=OrderedReady;Parallel
type PodManagementPolicyType string

const (
	// OrderedReadyPodManagement creates pods in ascending order and deletes them in descending order, one at a time, each
	// when the others are available.
	OrderedReadyPodManagement PodManagementPolicyType = "OrderedReady"
	// ParallelPodManagement creates and deletes pods without waiting for others.
	ParallelPodManagement PodManagementPolicyType = "Parallel"
)

// VolumeClaimUpdateStrategy says what a change of claim templates does to claims that exist.
type VolumeClaimUpdateStrategy struct {
	// Type is what happens to the claims. Default OnDelete.
	// +kubebuilder:default=OnDelete
	// +optional
	Type VolumeClaimUpdateStrategyType `json:"type,omitempty"`
}

// VolumeClaimUpdateStrategyType says what happens to claims that differ from their template.
//
// +kubebuilder:validation:Enum=OnDelete;OnPodRollingUpdate
type VolumeClaimUpdateStrategyType string

const (
	// OnPVCDeleteVolumeClaimUpdateStrategyType changes no claim; one that a user deletes comes back as the template has it.
	OnPVCDeleteVolumeClaimUpdateStrategyType VolumeClaimUpdateStrategyType = "OnDelete"
	// OnPodRollingUpdateVolumeClaimUpdateStrategyType enlarges claims that are too small, in the order and within the
	// bounds of an update of the pods. Only sizes of claim templates can be changed then.
	OnPodRollingUpdateVolumeClaimUpdateStrategyType VolumeClaimUpdateStrategyType = "OnPodRollingUpdate"
)

// StatefulSetPersistentVolumeClaimRetentionPolicy says when claims are deleted.
type StatefulSetPersistentVolumeClaimRetentionPolicy struct {
	// WhenDeleted is what happens to all claims when the set is deleted. Default Retain.
	// +kubebuilder:default=Retain
	// +optional
	WhenDeleted PersistentVolumeClaimRetentionPolicyType `json:"whenDeleted,omitempty"`

	// WhenScaled is what happens to the claims of a pod whose ordinal is no longer wanted. Default Retain.
	// +kubebuilder:default=Retain
	// +optional
	WhenScaled PersistentVolumeClaimRetentionPolicyType `json:"whenScaled,omitempty"`
}

// PersistentVolumeClaimRetentionPolicyType says what happens to claims that are no longer needed.
//
// +kubebuilder:validation:Enum=Retain;Delete
type PersistentVolumeClaimRetentionPolicyType string

const (
	// RetainPersistentVolumeClaimRetentionPolicyType keeps them.
	RetainPersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Retain"
	// DeletePersistentVolumeClaimRetentionPolicyType deletes them.
	DeletePersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Delete"
)

// StatefulSetOrdinals says where the ordinals begin.
type StatefulSetOrdinals struct {
	// Start is the ordinal of the first pod. It can be changed; pods below it are then replaced by pods at the other end.
	// Minimum 0, default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=0
	// +optional
	Start int32 `json:"start"`
}

// StatefulSetScaleStrategy bounds the creation of pods.
type StatefulSetScaleStrategy struct {
	// MaxUnavailable bounds the creation of pods: none is created while this many pods are unavailable. A number of at
	// least 1, or a percentage of replicas, rounded down, but at least 1. Anything but 1 is for podManagementPolicy Parallel
	// only. Absent means no bound.
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? 1 <= self && self <= 2147483647 : self.matches('^[0-9]+([.][0-9]+)?%$') && !self.matches('^[0.]+%$')",message="must be a whole number from 1 to 2147483647, or a percentage above 0% such as 25% or 12.5%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// StatefulSetUpdateStrategy says how a new revision reaches the pods.
type StatefulSetUpdateStrategy struct {
	// Type says who starts the update of a pod. Default RollingUpdate.
	// +kubebuilder:default=RollingUpdate
	// +optional
	Type StatefulSetUpdateStrategyType `json:"type,omitempty"`

	// RollingUpdate tunes type RollingUpdate. No update of type OnDelete follows it, but it is there with its defaults all
	// the same. Absent means all defaults.
	// +kubebuilder:default={}
	// +optional
	RollingUpdate *RollingUpdateStatefulSetStrategy `json:"rollingUpdate,omitempty"`
}

// StatefulSetUpdateStrategyType says who starts the update of a pod.
//
// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
type StatefulSetUpdateStrategyType string

const (
	// RollingUpdateStatefulSetStrategyType updates the pods one after another.
	RollingUpdateStatefulSetStrategyType StatefulSetUpdateStrategyType = "RollingUpdate"
	// OnDeleteStatefulSetStrategyType updates a pod when somebody deletes it.
	OnDeleteStatefulSetStrategyType StatefulSetUpdateStrategyType = "OnDelete"
)

// RollingUpdateStatefulSetStrategy tunes updates.
type RollingUpdateStatefulSetStrategy struct {
	// Partition is how many pods keep the current revision: those with the lowest ordinals, or, with UnorderedUpdate,
	// whichever. A number, never a percentage. Minimum 0, default 0: all pods are updated.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=0
	// +optional
	Partition *int32 `json:"partition,omitempty"`

	// MaxUnavailable is how many pods may be unavailable because of an update, or because available pods are deleted. A
	// number of at least 1, or a percentage of replicas, rounded down, but at least 1. Anything but 1 is for
	// podManagementPolicy Parallel only. Default 1.
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? 1 <= self && self <= 2147483647 : self.matches('^[0-9]+([.][0-9]+)?%$') && !self.matches('^[0.]+%$')",message="must be a whole number from 1 to 2147483647, or a percentage above 0% such as 25% or 12.5%"
	// +kubebuilder:default=1
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// PodUpdatePolicy is what happens to a pod that is to be updated. Default ReCreate.
	// +kubebuilder:default=ReCreate
	// +optional
	PodUpdatePolicy PodUpdateStrategyType `json:"podUpdatePolicy,omitempty"`

	// Paused stops the update of further pods; scaling and the replacement of lost pods go on. Default false.
	// +kubebuilder:default=false
	// +optional
	Paused bool `json:"paused,omitempty"`

	// UnorderedUpdate updates pods by their labels instead of by their ordinals. For podManagementPolicy Parallel only.
	// +optional
	UnorderedUpdate *UnorderedUpdateStrategy `json:"unorderedUpdate,omitempty"`

	// InPlaceUpdateStrategy tunes in-place updates.
	// +optional
	InPlaceUpdateStrategy *kruisev1alpha1.InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty"`

	// MinReadySeconds is how many seconds a pod must be ready before it counts as available, in scaling and in updates.
	// 0 to 300, default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=300
	// +kubebuilder:default=0
	// +optional
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
}

// PodUpdateStrategyType says what happens to a pod that is to get a new revision.
//
// +kubebuilder:validation:Enum=ReCreate;InPlaceIfPossible;InPlaceOnly
type PodUpdateStrategyType string

const (
	// RecreatePodUpdateStrategyType deletes the pod and creates a new one with the same name.
	RecreatePodUpdateStrategyType PodUpdateStrategyType = "ReCreate"
	// InPlaceIfPossiblePodUpdateStrategyType changes the living pod where the change allows that, and recreates it otherwise.
	InPlaceIfPossiblePodUpdateStrategyType PodUpdateStrategyType = "InPlaceIfPossible"
	// InPlaceOnlyPodUpdateStrategyType changes the living pod, and leaves it alone, with a condition that says so, where the
	// change does not allow that.
	InPlaceOnlyPodUpdateStrategyType PodUpdateStrategyType = "InPlaceOnly"
)

// UnorderedUpdateStrategy updates pods in an order of their labels.
type UnorderedUpdateStrategy struct {
	// PriorityStrategy decides which pods are updated first. Absent means that the highest ordinals are.
	// +optional
	PriorityStrategy *kruisev1alpha1.UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`
}
