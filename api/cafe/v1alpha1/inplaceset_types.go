// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DefaultInPlaceSetMaxUnavailable is what an absent strategy.maxUnavailable means.
const DefaultInPlaceSetMaxUnavailable = "25%"

// InPlaceSet keeps a number of pods in one deploy unit and updates them in place, so that a pod keeps its name, its node,
// its volumes and its IP. Components that route traffic to the pods can take part in every update and deletion: see
// AnnotationTrafficComponents.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:resource:shortName=ips
// +kubebuilder:printcolumn:name="UNIT",type=string,JSONPath=`.spec.deployUnit`,description="Deploy unit of the pods"
// +kubebuilder:printcolumn:name="DESIRED",type=integer,JSONPath=`.spec.replicas`,description="Pods wanted"
// +kubebuilder:printcolumn:name="UPDATED",type=integer,JSONPath=`.status.updatedReplicas`,description="Pods on the update revision"
// +kubebuilder:printcolumn:name="READY",type=integer,JSONPath=`.status.readyReplicas`,description="Pods that are ready"
// +kubebuilder:printcolumn:name="AVAILABLE",type=integer,JSONPath=`.status.availableReplicas`,description="Pods that are available"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
// +kubebuilder:printcolumn:name="CONTAINERS",type=string,priority=1,JSONPath=`.spec.template.spec.containers[*].name`,description="Containers of the template"
// +kubebuilder:printcolumn:name="IMAGES",type=string,priority=1,JSONPath=`.spec.template.spec.containers[*].image`,description="Images of the template"
// +kubebuilder:printcolumn:name="SELECTOR",type=string,priority=1,JSONPath=`.status.labelSelector`,description="Selector of the pods"
type InPlaceSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   InPlaceSetSpec   `json:"spec"`
	Status InPlaceSetStatus `json:"status,omitempty"`
}

// InPlaceSetList is a list of InPlaceSets.
//
// +kubebuilder:object:root=true
type InPlaceSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []InPlaceSet `json:"items"`
}

// InPlaceSetSpec is what the user wants.
//
// +kubebuilder:validation:XValidation:rule=`(has(self.deployUnit) ? self.deployUnit : "") == (has(oldSelf.deployUnit) ? oldSelf.deployUnit : "")`,message="must not be changed: an InPlaceSet stays in its deploy unit",fieldPath=".deployUnit"
type InPlaceSetSpec struct {
	// Replicas is the number of pods wanted. Minimum 0, default 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Selector finds the pods of this InPlaceSet. It must match the labels of the template, must not be empty, and can
	// never be changed.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels : {}) == (has(oldSelf.matchLabels) ? oldSelf.matchLabels : {}) && (has(self.matchExpressions) ? self.matchExpressions : []) == (has(oldSelf.matchExpressions) ? oldSelf.matchExpressions : [])",message="must not be changed: an InPlaceSet keeps its selector for life"
	Selector *metav1.LabelSelector `json:"selector"`

	// Template describes the pods. Any change in meaning makes a new revision, which is then released. A change that no
	// living pod can take, which is anything but images, labels and annotations, recreates the pods.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Template corev1.PodTemplateSpec `json:"template"`

	// MinReadySeconds is how many seconds a pod must be ready before it counts as available. Minimum 0, default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=0
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// DeployUnit is the unit that the pods belong to: they come only to nodes whose label names this unit, besides what the
	// template asks for. It is a label value, can never be changed, and ties to no unit when empty. Default empty.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	// +optional
	DeployUnit string `json:"deployUnit,omitempty"`

	// UnitType says which label of a node names its unit; None ties the pods to no unit. To change it recreates the
	// pods, because no living pod can change its node. Default Cell.
	// +kubebuilder:default=Cell
	// +optional
	UnitType UnitType `json:"unitType,omitempty"`

	// Strategy says how a new revision reaches the pods.
	// +kubebuilder:default={}
	// +optional
	Strategy InPlaceSetStrategy `json:"strategy,omitempty"`

	// RevisionHistoryLimit is the number of revisions kept that no pod uses. Minimum 0, default 10.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=10
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// InPlaceSetStrategy says how a new revision reaches the pods.
type InPlaceSetStrategy struct {
	// Partition is how many pods stay on older revisions. A number, or a percentage of replicas, rounded up; a percentage
	// below 100% leaves at least one pod to update when replicas is above 1. Default 0: all pods are updated.
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? 0 <= self && self <= 2147483647 : self.matches('^[0-9]+([.][0-9]+)?%$')",message="must be a whole number from 0 to 2147483647, or a percentage such as 25% or 12.5%"
	// +kubebuilder:default=0
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty"`

	// MaxUnavailable is how many pods may be unavailable because of an update. A number of at least 1, or a percentage of
	// replicas, rounded down, but at least 1. Default 25%.
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? 1 <= self && self <= 2147483647 : self.matches('^[0-9]+([.][0-9]+)?%$') && !self.matches('^[0.]+%$')",message="must be a whole number from 1 to 2147483647, or a percentage above 0% such as 25% or 12.5%"
	// +kubebuilder:default="25%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// GracePeriodSeconds is how many seconds a pod stays not ready before its containers are changed, so that traffic can
	// leave it. It begins when the declared components have let go of the pod. Minimum 0, default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=0
	// +optional
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`

	// Paused stops the update of further pods; scaling goes on. Default false.
	// +kubebuilder:default=false
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// InPlaceSetStatus is what the controller has seen. The counters are over the active pods of the set: those that are
// neither finished nor being deleted.
type InPlaceSetStatus struct {
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

	// UpdatedReadyReplicas is how many are on the update revision and ready.
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`

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

	// Conditions say how a release goes, and what holds it up.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
}
