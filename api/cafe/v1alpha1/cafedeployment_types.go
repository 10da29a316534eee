// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// CafeDeployment keeps one application in many deploy units: one pod set for each unit. It splits the replicas over the
// units, and brings pods up and to a new version in groups over all units, with a person's confirmation between them when
// that is asked for.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:resource:shortName=cafe
// +kubebuilder:printcolumn:name="DESIRED",type=integer,JSONPath=`.spec.replicas`,description="Pods wanted in all units"
// +kubebuilder:printcolumn:name="UPDATED",type=integer,JSONPath=`.status.updatedReplicas`,description="Pods on the update revision"
// +kubebuilder:printcolumn:name="READY",type=integer,JSONPath=`.status.readyReplicas`,description="Pods that are ready"
// +kubebuilder:printcolumn:name="AVAILABLE",type=integer,JSONPath=`.status.availableReplicas`,description="Pods that are available"
// +kubebuilder:printcolumn:name="PHASE",type=string,JSONPath=`.status.phase`,description="Phase of the release"
// +kubebuilder:printcolumn:name="GROUP",type=integer,JSONPath=`.status.currentGroup`,description="Group that is on its way"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
// +kubebuilder:printcolumn:name="PODSETS",type=string,priority=1,JSONPath=`.spec.podSetType`,description="Kind of the pod sets"
// +kubebuilder:printcolumn:name="UNITS",type=string,priority=1,JSONPath=`.spec.topology.values`,description="Units of the pods"
// +kubebuilder:printcolumn:name="IMAGES",type=string,priority=1,JSONPath=`.spec.template.spec.containers[*].image`,description="Images of the template"
// +kubebuilder:printcolumn:name="SELECTOR",type=string,priority=1,JSONPath=`.status.labelSelector`,description="Selector of the pods"
type CafeDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CafeDeploymentSpec   `json:"spec"`
	Status CafeDeploymentStatus `json:"status,omitempty"`
}

// CafeDeploymentList is a list of CafeDeployments.
//
// +kubebuilder:object:root=true
type CafeDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CafeDeployment `json:"items"`
}

// CafeDeploymentSpec is what the user wants.
//
// +kubebuilder:validation:XValidation:rule="!has(self.volumeClaimTemplates) || size(self.volumeClaimTemplates) == 0 || self.podSetType in ['StatefulSet', 'AdvancedStatefulSet']",messageExpression="'must not be set unless podSetType is StatefulSet or AdvancedStatefulSet, and podSetType is ' + self.podSetType",message="must not be set unless podSetType is StatefulSet or AdvancedStatefulSet",fieldPath=".volumeClaimTemplates",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.serviceName) || size(self.serviceName) == 0 || self.podSetType in ['StatefulSet', 'AdvancedStatefulSet']",messageExpression="'must not be set unless podSetType is StatefulSet or AdvancedStatefulSet, and podSetType is ' + self.podSetType",message="must not be set unless podSetType is StatefulSet or AdvancedStatefulSet",fieldPath=".serviceName",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`(has(self.serviceName) ? self.serviceName : "") == (has(oldSelf.serviceName) ? oldSelf.serviceName : "")`,message="must not be changed: it is part of the DNS names of the pods",fieldPath=".serviceName"
type CafeDeploymentSpec struct {
	// Replicas is the number of pods wanted in all units together. Minimum 0, default 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Selector finds the pods. It must match the labels of the template, must not be empty, and can never be changed.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels : {}) == (has(oldSelf.matchLabels) ? oldSelf.matchLabels : {}) && (has(self.matchExpressions) ? self.matchExpressions : []) == (has(oldSelf.matchExpressions) ? oldSelf.matchExpressions : [])",message="must not be changed: a CafeDeployment keeps its selector for life"
	Selector *metav1.LabelSelector `json:"selector"`

	// Template describes the pods of all units. Any change in meaning makes a new revision, which is then released.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Template corev1.PodTemplateSpec `json:"template"`

	// PodSetType is the kind of the pod set that keeps the pods of a unit. Can never be changed. Default InPlaceSet.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",messageExpression="'must not be changed, and was ' + oldSelf",message="must not be changed"
	// +kubebuilder:default=InPlaceSet
	// +optional
	PodSetType PodSetType `json:"podSetType,omitempty"`

	// HistoryLimit is the number of template versions kept that no pod uses. Minimum 0, default 20.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=20
	// +optional
	HistoryLimit *int32 `json:"historyLimit,omitempty"`

	// VolumeClaimTemplates gives every pod one claim per entry. For StatefulSet and AdvancedStatefulSet only.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`

	// ServiceName becomes the subdomain of the pods. For StatefulSet and AdvancedStatefulSet only. Can never be changed.
	// Default: none.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// Strategy says how pods are brought up and to a new version.
	// +kubebuilder:default={}
	// +optional
	Strategy CafeDeploymentStrategy `json:"strategy,omitempty"`

	// Topology says which units there are, and how many pods each gets.
	Topology Topology `json:"topology"`
}

// PodSetType is the kind of the pod sets.
//
// +kubebuilder:validation:Enum=InPlaceSet;ReplicaSet;StatefulSet;CloneSet;AdvancedStatefulSet
type PodSetType string

const (
	// InPlaceSetPodSetType is the InPlaceSet of this group.
	InPlaceSetPodSetType PodSetType = "InPlaceSet"
	// ReplicaSetPodSetType is the built-in ReplicaSet: one for each unit and version.
	ReplicaSetPodSetType PodSetType = "ReplicaSet"
	// StatefulSetPodSetType is the built-in StatefulSet.
	StatefulSetPodSetType PodSetType = "StatefulSet"
	// CloneSetPodSetType is the CloneSet of apps.kruise.io/v1alpha1.
	CloneSetPodSetType PodSetType = "CloneSet"
	// AdvancedStatefulSetPodSetType is the StatefulSet of apps.kruise.io/v1beta1.
	AdvancedStatefulSetPodSetType PodSetType = "AdvancedStatefulSet"
)

// CafeDeploymentStrategy says how pods are brought up and to a new version.
type CafeDeploymentStrategy struct {
	// UpgradeType says whether a first group of one pod in each unit comes before the others. Default Batch.
	// +kubebuilder:default=Batch
	// +optional
	UpgradeType UpgradeType `json:"upgradeType,omitempty"`

	// BatchSize is how many pods make a group, over all units. Minimum 1. Absent means that all pods make one group.
	// +kubebuilder:validation:Minimum=1
	// +optional
	BatchSize *int32 `json:"batchSize,omitempty"`

	// Partition is how many pods, of all units together, stay on older versions. While it is set it takes the place of
	// upgradeType, batchSize and needWaitingForConfirm: all other pods are brought up and updated at once, shared over the units
	// in proportion, and nobody is asked. Raising it takes no pod back. Minimum 0. Absent means groups.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Partition *int32 `json:"partition,omitempty"`

	// NeedWaitingForConfirm has each group but the first wait for a person: see AnnotationUpgradeConfirmed. Default
	// false.
	// +kubebuilder:default=false
	// +optional
	NeedWaitingForConfirm bool `json:"needWaitingForConfirm,omitempty"`

	// MinReadySeconds is how many seconds a pod must be ready before it counts as available. Minimum 0, default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=0
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// Pause starts nothing new: no group begins; what is on its way ends. Default false.
	// +kubebuilder:default=false
	// +optional
	Pause bool `json:"pause,omitempty"`
}

// UpgradeType says how a release begins.
//
// +kubebuilder:validation:Enum=Beta;Batch
type UpgradeType string

const (
	// BetaUpgradeType puts one group in front: one pod in each unit that has a pod to bring up or to update.
	BetaUpgradeType UpgradeType = "Beta"
	// BatchUpgradeType begins with groups of batchSize.
	BatchUpgradeType UpgradeType = "Batch"
)

// Topology says which units there are, and how many pods each gets.
//
// +kubebuilder:validation:XValidation:rule="self.unitType == 'None' || has(self.values) && size(self.values) > 0",message="must name the units, unless unitType is None",fieldPath=".values",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="self.unitType != 'None' || !has(self.values) || size(self.values) == 0",message="must be empty when unitType is None, which means one pod set for all pods",fieldPath=".values",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.unitReplicas) || self.unitReplicas.all(u, has(self.values) && u in self.values)",messageExpression="'keys must be units that stand in values, and these do not: %s'.format([self.unitReplicas.filter(u, !has(self.values) || !(u in self.values))])",message="keys must be units that stand in values",fieldPath=".unitReplicas"
type Topology struct {
	// UnitType says which label of a node names its unit. None means one pod set and no unit. Default Cell.
	// +kubebuilder:default=Cell
	// +optional
	UnitType UnitType `json:"unitType,omitempty"`

	// Values are the units, each once, as the label of their nodes names them; their order breaks ties. At most 100.
	// Needed unless UnitType is None.
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	// +optional
	Values []string `json:"values,omitempty"`

	// UnitReplicas fixes the replicas of units: a number, or a percentage of replicas, rounded down. The other units share
	// what is left evenly. Keys must stand in Values.
	// +optional
	UnitReplicas UnitReplicas `json:"unitReplicas,omitempty"`

	// AutoReschedule lets units that are short of resources give pods up to other units.
	// +kubebuilder:default={}
	// +optional
	AutoReschedule AutoReschedule `json:"autoReschedule,omitempty"`
}

// The rule looks at each number through a list: servers before Kubernetes 1.34 do not know how long such a string may be, and
// would take the rule for too costly.

// UnitReplicas are replicas by unit: numbers, or percentages of all replicas, rounded down.
//
// +kubebuilder:validation:MaxProperties=100
// +kubebuilder:validation:XValidation:rule="self.all(u, [self[u]].all(v, type(v) == int ? 0 <= v && v <= 2147483647 : v.matches('^[0-9]+([.][0-9]+)?%$')))",messageExpression="'must be whole numbers from 0 to 2147483647, or percentages such as 25%% or 12.5%%, and those of these units are not: %s'.format([self.filter(u, ![self[u]].all(v, type(v) == int ? 0 <= v && v <= 2147483647 : v.matches('^[0-9]+([.][0-9]+)?%$')))])",message="must be whole numbers from 0 to 2147483647, or percentages such as 25% or 12.5%"
type UnitReplicas map[string]intstr.IntOrString

// AutoReschedule lets units that are short of resources give pods up to other units.
type AutoReschedule struct {
	// Enable turns it on. Default false.
	// +kubebuilder:default=false
	// +optional
	Enable bool `json:"enable,omitempty"`

	// InitialDelaySeconds is how long a pod may be unschedulable for lack of resources before its unit gives its place up.
	// Minimum 0, default 10.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=10
	// +optional
	InitialDelaySeconds *int32 `json:"initialDelaySeconds,omitempty"`
}

// DefaultInitialDelaySeconds is what an absent autoReschedule.initialDelaySeconds means.
const DefaultInitialDelaySeconds = 10
