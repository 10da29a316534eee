// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ApplicationRevision is a snapshot of an application, of the definitions that it used, and of what they made of it. It is
// never changed. Its name is that of the application, "-v" and its number.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=applicationrevisions,shortName=apprev
// +kubebuilder:printcolumn:name="APPLICATION",type=string,JSONPath=`.metadata.labels.app\.oam\.dev/name`,description="Application that it is a snapshot of"
// +kubebuilder:printcolumn:name="REVISION",type=integer,JSONPath=`.spec.revision`,description="Number of the revision"
// +kubebuilder:printcolumn:name="HASH",type=string,JSONPath=`.metadata.labels.app\.oam\.dev/app-revision-hash`,description="Hash of what it holds: the same for the same content"
// +kubebuilder:printcolumn:name="COMPONENTS",type=string,JSONPath=`.spec.componentRevisions[*].revision`,description="Revisions of its components"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
type ApplicationRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ApplicationRevisionSpec `json:"spec"`
}

// ApplicationRevisionList is a list of ApplicationRevisions.
//
// +kubebuilder:object:root=true
type ApplicationRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ApplicationRevision `json:"items"`
}

// ApplicationRevisionSpec is the snapshot. What it has of other kinds has no type in the schema: only then a rule compares all of
// it; in an object with a type, a member that takes the place of an unknown one would pass for it.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="must not be changed: a revision is what was deployed. Edit the Application to make another one"
type ApplicationRevisionSpec struct {
	// Revision is the number of the revision, from 1. Absent means the number at the end of its name.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999999999
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// Application is the application without its status and its rolloutPlan; of its metadata it has the name, the namespace, and
	// the labels and annotations that people have set.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Application Application `json:"application"`

	// ComponentDefinitions that the application used, by name.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	ComponentDefinitions map[string]ComponentDefinition `json:"componentDefinitions,omitempty"`

	// TraitDefinitions that the application used, by name.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	TraitDefinitions map[string]TraitDefinition `json:"traitDefinitions,omitempty"`

	// ComponentRevisions are what was made of the components, in the order of the application.
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	// +optional
	ComponentRevisions []ComponentRevision `json:"componentRevisions,omitempty"`
}

// ComponentRevision is what was made of a component.
type ComponentRevision struct {
	// Name of the component.
	Name string `json:"name"`

	// Revision is the name of its component revision, a ControllerRevision.
	Revision string `json:"revision"`

	// RevisionHash is the hash of the workload's template: the same for templates that mean the same.
	// +optional
	RevisionHash string `json:"revisionHash,omitempty"`

	// Workload is the workload as it was rendered, traits included.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	Workload *runtime.RawExtension `json:"workload,omitempty"`

	// Resources are the other objects as they were rendered, those of the component first, then those of its traits in their order.
	// +listType=atomic
	// +optional
	Resources []RenderedResource `json:"resources,omitempty"`
}

// RenderedResource is an object that a component or one of its traits has besides the workload.
type RenderedResource struct {
	// Name that the template gives it among its outputs.
	Name string `json:"name"`

	// Trait is the type of the trait; empty for what the component itself has.
	// +optional
	Trait string `json:"trait,omitempty"`

	// Object is what was rendered.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Object runtime.RawExtension `json:"object"`
}
