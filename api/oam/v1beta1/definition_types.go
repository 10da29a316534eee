// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ComponentDefinition says how a workload is made from the properties of a component.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=componentdefinitions,shortName=comp
// +kubebuilder:printcolumn:name="WORKLOAD-KIND",type=string,JSONPath=`.spec.workload.definition.kind`,description="Kind of the workload"
// +kubebuilder:printcolumn:name="DESCRIPTION",type=string,JSONPath=`.metadata.annotations.definition\.oam\.dev/description`,description="What it is for"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
type ComponentDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ComponentDefinitionSpec `json:"spec"`
}

// ComponentDefinitionList is a list of ComponentDefinitions.
//
// +kubebuilder:object:root=true
type ComponentDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ComponentDefinition `json:"items"`
}

// ComponentDefinitionSpec says how a workload is made.
type ComponentDefinitionSpec struct {
	// Workload is what kind of workload the template makes.
	Workload WorkloadType `json:"workload"`

	// Schematic makes the workload.
	Schematic Schematic `json:"schematic"`

	// Status says how the health of the workload is read. Absent: by what its kind reports.
	// +optional
	Status *DefinitionStatus `json:"status,omitempty"`

	// ChildResourceKinds is accepted from manifests of others, and has no effect.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	ChildResourceKinds []ChildResourceKind `json:"childResourceKinds,omitempty"`

	// RevisionLabel is accepted from manifests of others, and has no effect.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	RevisionLabel string `json:"revisionLabel,omitempty"`

	// PodSpecPath is accepted from manifests of others, and has no effect.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	PodSpecPath string `json:"podSpecPath,omitempty"`

	// Extension is accepted from manifests of others, and has no effect.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +optional
	Extension *runtime.RawExtension `json:"extension,omitempty"`
}

// WorkloadType is what kind of workload a template makes.
type WorkloadType struct {
	// Type is accepted from manifests of others, and has no effect.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Type string `json:"type,omitempty"`

	// Definition is the kind. A template that makes another one is an error.
	Definition WorkloadGVK `json:"definition"`
}

// ChildResourceKind is a kind of object that a workload makes.
type ChildResourceKind struct {
	// APIVersion is group and version, as in "apps/v1".
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`

	// Kind as in "Pod".
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Selector of its labels.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Selector map[string]string `json:"selector,omitempty"`
}

// Schematic is how objects are made.
type Schematic struct {
	// CUE makes them by a template.
	CUE CUE `json:"cue"`
}

// CUE is a template in the language CUE.
type CUE struct {
	// Template reads parameter and context, and gives output, outputs and patch. At most 131072 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=131072
	Template string `json:"template"`
}

// DefinitionStatus says how an object is judged, in CUE that reads context.
type DefinitionStatus struct {
	// CustomStatus gives message, a text for people. At most 16384 characters.
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	CustomStatus string `json:"customStatus,omitempty"`

	// HealthPolicy gives isHealth, true or false. At most 16384 characters.
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	HealthPolicy string `json:"healthPolicy,omitempty"`
}

// TraitDefinition says how the workload of a component is changed, or what objects are added to it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=traitdefinitions,shortName=trait
// +kubebuilder:printcolumn:name="APPLIES-TO",type=string,JSONPath=`.spec.appliesToWorkloads`,description="Workloads that may have it"
// +kubebuilder:printcolumn:name="RESTARTS-PODS",type=boolean,JSONPath=`.spec.podDisruptive`,description="Whether a change of it changes pods"
// +kubebuilder:printcolumn:name="DESCRIPTION",type=string,JSONPath=`.metadata.annotations.definition\.oam\.dev/description`,description="What it is for"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
type TraitDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TraitDefinitionSpec `json:"spec"`
}

// TraitDefinitionList is a list of TraitDefinitions.
//
// +kubebuilder:object:root=true
type TraitDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TraitDefinition `json:"items"`
}

// TraitDefinitionSpec says how a workload is changed.
type TraitDefinitionSpec struct {
	// AppliesToWorkloads are the workloads that may have the trait: the name of a ComponentDefinition ("webservice"), a resource
	// with its group ("deployments.apps"), all of a group ("*.apps"), or "*". Absent means all. At most 100.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	// +listType=atomic
	// +optional
	AppliesToWorkloads []string `json:"appliesToWorkloads,omitempty"`

	// ConflictsWith are the traits that a component with this one cannot have: the name of a TraitDefinition. At most 100.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=317
	// +listType=atomic
	// +optional
	ConflictsWith []string `json:"conflictsWith,omitempty"`

	// PodDisruptive tells people that a change of the trait changes pods. Default false.
	// +optional
	PodDisruptive bool `json:"podDisruptive,omitempty"`

	// Schematic changes the workload or adds objects.
	Schematic Schematic `json:"schematic"`

	// Status is accepted from manifests of others, and has no effect.
	// +optional
	Status *DefinitionStatus `json:"status,omitempty"`

	// DefinitionRef is accepted from manifests of others, and has no effect.
	// +optional
	DefinitionRef *DefinitionReference `json:"definitionRef,omitempty"`

	// WorkloadRefPath is accepted from manifests of others, and has no effect.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	WorkloadRefPath string `json:"workloadRefPath,omitempty"`

	// RevisionEnabled is accepted from manifests of others, and has no effect.
	// +optional
	RevisionEnabled bool `json:"revisionEnabled,omitempty"`

	// ManageWorkload is accepted from manifests of others, and has no effect.
	// +optional
	ManageWorkload bool `json:"manageWorkload,omitempty"`

	// SkipRevisionAffect is accepted from manifests of others, and has no effect.
	// +optional
	SkipRevisionAffect bool `json:"skipRevisionAffect,omitempty"`

	// Extension is accepted from manifests of others, and has no effect.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +optional
	Extension *runtime.RawExtension `json:"extension,omitempty"`
}

// DefinitionReference names a CustomResourceDefinition.
type DefinitionReference struct {
	// Name of the CustomResourceDefinition.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Version of it.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Version string `json:"version,omitempty"`
}
