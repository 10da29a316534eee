// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// AppRollout takes an application from one of its revisions to another, or to a new size, in batches. It works once: when it
// has ended, nothing moves until its spec asks for something new.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=approllouts,shortName=approllout
// +kubebuilder:printcolumn:name="TARGET",type=string,JSONPath=`.spec.targetAppRevisionName`,description="Application revision that is rolled out"
// +kubebuilder:printcolumn:name="UPGRADED",type=integer,JSONPath=`.status.upgradedReplicas`,description="Pods on the new version"
// +kubebuilder:printcolumn:name="READY",type=integer,JSONPath=`.status.upgradedReadyReplicas`,description="Pods on the new version that are available"
// +kubebuilder:printcolumn:name="BATCH-STATE",type=string,JSONPath=`.status.batchRollingState`,description="State of the current batch"
// +kubebuilder:printcolumn:name="ROLLING-STATE",type=string,JSONPath=`.status.rollingState`,description="State of the rollout"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
// +kubebuilder:printcolumn:name="BATCH",type=integer,priority=1,JSONPath=`.status.currentBatch`,description="Number of the current batch, from 0"
// +kubebuilder:printcolumn:name="MESSAGE",type=string,priority=1,JSONPath=`.status.message`,description="What it does or waits for"
type AppRollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AppRolloutSpec   `json:"spec"`
	Status AppRolloutStatus `json:"status,omitempty"`
}

// AppRolloutList is a list of AppRollouts.
//
// +kubebuilder:object:root=true
type AppRolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AppRollout `json:"items"`
}

// AppRolloutSpec is what the user wants.
//
// +kubebuilder:validation:XValidation:rule="!has(self.sourceAppRevisionName) || self.sourceAppRevisionName != self.targetAppRevisionName || oldSelf.optMap(o, has(o.sourceAppRevisionName) && o.sourceAppRevisionName == o.targetAppRevisionName).orValue(false)",optionalOldSelf=true,messageExpression="'must be another revision than targetAppRevisionName, and both are %s: leave it out for a scale'.format([self.targetAppRevisionName])",message="must be another revision than targetAppRevisionName: leave it out for a scale",fieldPath=".sourceAppRevisionName"
// +kubebuilder:validation:XValidation:rule=`has(self.sourceAppRevisionName) && self.sourceAppRevisionName != "" || has(self.rolloutPlan.targetSize) || oldSelf.optMap(o, (!has(o.sourceAppRevisionName) || o.sourceAppRevisionName == "") && !has(o.rolloutPlan.targetSize)).orValue(false)`,optionalOldSelf=true,message="must be given without a sourceAppRevisionName: that is a scale, and this is the size that it goes to",fieldPath=".rolloutPlan.targetSize",reason=FieldValueRequired
type AppRolloutSpec struct {
	// TargetAppRevisionName names the ApplicationRevision that is rolled out.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	TargetAppRevisionName string `json:"targetAppRevisionName"`

	// SourceAppRevisionName names the ApplicationRevision that is deployed now. Empty means a scale: the target is brought to the
	// targetSize of the plan.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	// +optional
	SourceAppRevisionName string `json:"sourceAppRevisionName,omitempty"`

	// ComponentList names the component that is rolled out: the first one is used. Empty means the one component that both
	// revisions have. At most 50.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=52
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +listType=atomic
	// +optional
	ComponentList []string `json:"componentList,omitempty"`

	// RolloutPlan says in which steps. While the rollout is in progress, only these may change: batchPartition, batches after
	// it, webhooks, metrics, paused, revertOnDelete, progressDeadlineSeconds, failurePolicy, and the targetSize of a scale.
	// With other revisions, another component or another size of a scale, and once the rollout has ended, all may change.
	RolloutPlan rolloutv1alpha1.RolloutPlan `json:"rolloutPlan"`

	// RevertOnDelete brings back what was before when the object is deleted before the rollout has succeeded, like the field of
	// the same name in the plan: one of them is enough. Default false.
	// +optional
	RevertOnDelete *bool `json:"revertOnDelete,omitempty"`
}

// AppRolloutStatus is what was observed of a rollout between revisions.
type AppRolloutStatus struct {
	rolloutv1alpha1.RolloutStatus `json:",inline"`

	// LastTargetAppRevision is the target of the rollout that this status speaks of.
	// +optional
	LastTargetAppRevision string `json:"lastTargetAppRevision"`

	// LastSourceAppRevision is its source; empty for a scale.
	// +optional
	LastSourceAppRevision string `json:"LastSourceAppRevision,omitempty"`

	// Component is the component that it takes to the target.
	// +optional
	Component string `json:"component,omitempty"`
}
