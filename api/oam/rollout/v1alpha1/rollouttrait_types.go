// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutTrait takes workloads that exist to a new version, or to a new size, in batches. It works once: when it has ended,
// nothing moves until its spec asks for something new.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=rollouttraits,shortName=rt
// +kubebuilder:printcolumn:name="TARGET",type=string,JSONPath=`.spec.targetRef.name`,description="Workload that is rolled out"
// +kubebuilder:printcolumn:name="UPGRADED",type=integer,JSONPath=`.status.upgradedReplicas`,description="Pods on the new version"
// +kubebuilder:printcolumn:name="READY",type=integer,JSONPath=`.status.upgradedReadyReplicas`,description="Pods on the new version that are available"
// +kubebuilder:printcolumn:name="BATCH-STATE",type=string,JSONPath=`.status.batchRollingState`,description="State of the current batch"
// +kubebuilder:printcolumn:name="ROLLING-STATE",type=string,JSONPath=`.status.rollingState`,description="State of the rollout"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
// +kubebuilder:printcolumn:name="BATCH",type=integer,priority=1,JSONPath=`.status.currentBatch`,description="Number of the current batch, from 0"
// +kubebuilder:printcolumn:name="MESSAGE",type=string,priority=1,JSONPath=`.status.message`,description="What it does or waits for"
type RolloutTrait struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RolloutTraitSpec `json:"spec"`
	Status RolloutStatus    `json:"status,omitempty"`
}

// RolloutTraitList is a list of RolloutTraits.
//
// +kubebuilder:object:root=true
type RolloutTraitList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RolloutTrait `json:"items"`
}

// RolloutTraitSpec is what the user wants.
//
// +kubebuilder:validation:XValidation:rule="!has(self.sourceRef) || self.sourceRef.all(s, s.apiVersion == self.targetRef.apiVersion && s.kind == self.targetRef.kind) || oldSelf.optMap(o, o.targetRef == self.targetRef && has(o.sourceRef) && o.sourceRef == self.sourceRef).orValue(false)",optionalOldSelf=true,messageExpression="'must be of the same kind as targetRef, which is %s of %s, and is %s of %s'.format([self.targetRef.kind, self.targetRef.apiVersion, self.sourceRef[0].kind, self.sourceRef[0].apiVersion])",message="must be of the same kind as targetRef",fieldPath=".sourceRef"
// +kubebuilder:validation:XValidation:rule="!has(self.sourceRef) || self.sourceRef.all(s, s.name != self.targetRef.name || s.kind != self.targetRef.kind || s.apiVersion != self.targetRef.apiVersion) || oldSelf.optMap(o, o.targetRef == self.targetRef && has(o.sourceRef) && o.sourceRef == self.sourceRef).orValue(false)",optionalOldSelf=true,messageExpression="'must be another object than targetRef, and both are %s %s: leave it out for a kind that holds two versions at once'.format([self.targetRef.kind, self.targetRef.name])",message="must be another object than targetRef",fieldPath=".sourceRef"
type RolloutTraitSpec struct {
	// TargetRef is the newer workload. It is the only one for kinds that hold two versions at once.
	TargetRef WorkloadReference `json:"targetRef"`

	// SourceRef are the older workloads, for kinds that hold one version each: Deployment. At most one.
	// +kubebuilder:validation:MaxItems=1
	// +listType=atomic
	// +optional
	SourceRef []WorkloadReference `json:"sourceRef,omitempty"`

	// RolloutPlan says in which steps. While the rollout is in progress, only these may change: batchPartition, batches after
	// it, webhooks, metrics, paused, revertOnDelete, progressDeadlineSeconds, failurePolicy, and the targetSize of a scale.
	// With another target, source or size of a scale, and once the rollout has ended, all may change.
	RolloutPlan RolloutPlan `json:"rolloutPlan"`
}

// WorkloadReference names an object in the namespace of the object that refers to it.
type WorkloadReference struct {
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

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}
