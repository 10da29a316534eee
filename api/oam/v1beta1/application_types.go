// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// Application is what somebody runs: components, each made by a definition from a few properties, with traits. Each
// content of its spec, and of the definitions, is recorded as an ApplicationRevision.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=applications,shortName=app
// +kubebuilder:printcolumn:name="COMPONENT",type=string,JSONPath=`.spec.components[0].name`,description="First component"
// +kubebuilder:printcolumn:name="TYPE",type=string,JSONPath=`.spec.components[0].type`,description="Type of the first component"
// +kubebuilder:printcolumn:name="PHASE",type=string,JSONPath=`.status.phase`,description="What the application is doing"
// +kubebuilder:printcolumn:name="HEALTHY",type=string,JSONPath=`.status.healthyServices`,description="Components that are healthy, of all"
// +kubebuilder:printcolumn:name="REVISION",type=integer,JSONPath=`.status.latestRevision.revision`,description="Number of the latest revision"
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="What it waits for or what is wrong"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
// +kubebuilder:printcolumn:name="BATCH-STATE",type=string,priority=1,JSONPath=`.status.rollout.batchRollingState`,description="State of the current batch"
// +kubebuilder:printcolumn:name="ROLLING-STATE",type=string,priority=1,JSONPath=`.status.rollout.rollingState`,description="State of the rollout"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || (self.metadata.name.size() <= 52 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",optionalOldSelf=true,message="must be a DNS label of at most 52 characters: letters a to z, digits and '-', with a letter or digit at both ends",fieldPath=".metadata.name"
// +kubebuilder:validation:XValidation:rule=`has(self.spec.rolloutPlan) || !has(oldSelf.spec.rolloutPlan) || self.spec.components != oldSelf.spec.components || !has(oldSelf.status) || !has(oldSelf.status.rollout) || oldSelf.status.rollout.rollingState in ["", "rolloutSucceed", "rolloutFailed"]`,message="must not be removed while its rollout is in progress, because all pods that are left would change at once: set paused to hold it, or remove batchPartition to let it go on. With other components it may be removed",fieldPath=".spec.rolloutPlan"
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ApplicationSpec   `json:"spec"`
	Status ApplicationStatus `json:"status,omitempty"`
}

// ApplicationList is a list of Applications.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Application `json:"items"`
}

// ApplicationSpec is what the user wants.
type ApplicationSpec struct {
	// Components are what the application is made of; they roll out one after the other, in this order. Names are unique. At
	// least 1, at most 50.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	Components []ApplicationComponent `json:"components"`

	// RolloutPlan says in which steps a new revision replaces the one before. Absent means that all is applied at once, and that
	// each workload follows its own strategy. A change of the plan alone makes no revision.
	// +optional
	RolloutPlan *rolloutv1alpha1.RolloutPlan `json:"rolloutPlan,omitempty"`
}

// ApplicationComponent is one part of an application: a workload, and what belongs to it.
type ApplicationComponent struct {
	// Name of the component, and of its workload for kinds that hold two versions at once. A DNS label of at most 52 characters,
	// so that the name of a revision fits into a label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Type is the name of a ComponentDefinition, in the namespace of the application or in the system namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Type string `json:"type"`

	// Properties are the parameters of the definition's template.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +optional
	Properties *runtime.RawExtension `json:"properties,omitempty"`

	// Scopes is accepted from manifests of others, and has no effect.
	// +kubebuilder:validation:MaxProperties=20
	// +optional
	Scopes map[string]string `json:"scopes,omitempty"`

	// Traits change the workload or add objects to it, in this order. At most 50.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Traits []ApplicationTrait `json:"traits,omitempty"`
}

// ApplicationTrait changes the workload of a component or adds objects to it.
type ApplicationTrait struct {
	// Type is the name of a TraitDefinition, in the namespace of the application or in the system namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Type string `json:"type"`

	// Properties are the parameters of the definition's template.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +optional
	Properties *runtime.RawExtension `json:"properties,omitempty"`
}

// ApplicationStatus is what was observed of an application.
type ApplicationStatus struct {
	// Phase is what the application is doing.
	// +optional
	Phase ApplicationPhase `json:"phase,omitempty"`

	// ObservedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Parsed, Revision, Render, Rollout, Applied and Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LatestRevision is the newest revision of the spec and of the definitions, deployed or not.
	// +optional
	LatestRevision *Revision `json:"latestRevision,omitempty"`

	// HealthyServices is how many of the components are healthy, as in "2/3". It is what lists show.
	// +optional
	HealthyServices string `json:"healthyServices,omitempty"`

	// Rollout is how far the rollout by the rolloutPlan is.
	// +optional
	Rollout *AppRolloutStatus `json:"rollout,omitempty"`

	// Services are the workloads, one for each component in the order of the spec.
	// +listType=map
	// +listMapKey=name
	// +optional
	Services []ApplicationService `json:"services,omitempty"`

	// AppliedResources are the objects that were applied and not deleted since. What is among them and not in the revision that is
	// deployed is deleted.
	// +listType=atomic
	// +optional
	AppliedResources []AppliedResource `json:"appliedResources,omitempty"`
}

// ApplicationPhase is what an application is doing.
//
// +kubebuilder:validation:Enum="";rendering;rollingOut;running;runningFailed;rollingOutFailed
type ApplicationPhase string

// The phases of an application.
const (
	// ApplicationRendering makes objects from the spec and the definitions; it stays while that fails.
	ApplicationRendering ApplicationPhase = "rendering"
	// ApplicationRollingOut takes the workloads to the latest revision in batches.
	ApplicationRollingOut ApplicationPhase = "rollingOut"
	// ApplicationRunning has everything applied, and all of it is healthy.
	ApplicationRunning ApplicationPhase = "running"
	// ApplicationRunningFailed has something that could not be applied or is not healthy.
	ApplicationRunningFailed ApplicationPhase = "runningFailed"
	// ApplicationRollingOutFailed has a rollout that has failed.
	ApplicationRollingOutFailed ApplicationPhase = "rollingOutFailed"
)

// Conditions of an application.
const (
	// ConditionParsed is True when every component and trait has a definition and the right properties.
	ConditionParsed = "Parsed"
	// ConditionRevision is True when the spec and its definitions are recorded as the latest revision.
	ConditionRevision = "Revision"
	// ConditionRender is True when the objects of the latest revision could be made.
	ConditionRender = "Render"
	// ConditionRollout is True when the latest revision is rolled out.
	ConditionRollout = "Rollout"
	// ConditionApplied is True when the objects of the latest revision are applied and those that it no longer has are gone.
	ConditionApplied = "Applied"
	// ConditionReady is True when all of the others are and every component is healthy; it is the summary.
	ConditionReady = "Ready"
)

// Revision names a revision of an application.
type Revision struct {
	// Name of the ApplicationRevision.
	Name string `json:"name"`

	// Revision is its number, from 1.
	Revision int64 `json:"revision"`

	// RevisionHash is the hash of the spec without its rolloutPlan and of the definitions that it uses.
	// +optional
	RevisionHash string `json:"revisionHash,omitempty"`
}

// ApplicationService is the workload of a component as it was observed.
type ApplicationService struct {
	// Name of the component.
	Name string `json:"name"`

	// WorkloadDefinition is what kind of workload it is.
	// +optional
	WorkloadDefinition WorkloadGVK `json:"workloadDefinition,omitempty"`

	// Healthy tells whether the workload is up to date and available, or what the healthPolicy of its definition says.
	Healthy bool `json:"healthy"`

	// Message says what is missing, or what the customStatus of its definition says.
	// +optional
	Message string `json:"message,omitempty"`
}

// WorkloadGVK is a kind of workload.
type WorkloadGVK struct {
	// APIVersion is group and version, as in "apps/v1".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z]([-a-z0-9]*[a-z0-9])?$`
	APIVersion string `json:"apiVersion"`

	// Kind as in "Deployment".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
	Kind string `json:"kind"`
}

// AppliedResource is an object that was applied for an application.
type AppliedResource struct {
	// APIVersion is group and version, as in "apps/v1".
	APIVersion string `json:"apiVersion"`

	// Kind as in "Deployment".
	Kind string `json:"kind"`

	// Namespace of the object.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	Name string `json:"name"`

	// UID of the object. Another object that has its name by now is not the one that was applied.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// Component is the name of the component that it belongs to.
	// +optional
	Component string `json:"component,omitempty"`
}
