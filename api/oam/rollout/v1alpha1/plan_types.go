// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutPlan says in which steps a workload changes, and what each step waits for.
type RolloutPlan struct {
	// RolloutStrategy is the order of growing and shrinking where two objects are rolled out. It has no effect on kinds
	// that hold two versions at once. Default IncreaseFirst.
	// +kubebuilder:default=IncreaseFirst
	// +optional
	RolloutStrategy RolloutStrategyType `json:"rolloutStrategy,omitempty"`

	// TargetSize is the final number of pods. A scale needs it. A rollout of two objects has at least the pods of both,
	// and exactly those by default. In a rollout of one object it can only be the size that the object has. Minimum 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TargetSize *int32 `json:"targetSize,omitempty"`

	// NumBatches is the number of equal batches when RolloutBatches is absent; the later ones take what does not divide.
	// Together with RolloutBatches it can only be their number. Minimum 1, default 1.
	// +kubebuilder:validation:Minimum=1
	// +optional
	NumBatches *int32 `json:"numBatches,omitempty"`

	// RolloutBatches are the batches, in their order. At most 100.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	RolloutBatches []RolloutBatch `json:"rolloutBatches,omitempty"`

	// BatchPartition is the number, from 0, of the last batch that may be rolled; the rollout then waits. Minimum 0.
	// Absent means all.
	// +kubebuilder:validation:Minimum=0
	// +optional
	BatchPartition *int32 `json:"batchPartition,omitempty"`

	// Paused starts nothing new, in any state that is not final. It never holds back a release of the workload, a deletion or
	// a revert. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// RevertOnDelete brings back what was before when the object is deleted before the rollout has succeeded. Default
	// false.
	// +optional
	RevertOnDelete bool `json:"revertOnDelete,omitempty"`

	// RolloutWebhooks are called in their order: those for batches in every batch. At most 20.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	RolloutWebhooks []RolloutWebhook `json:"rolloutWebhooks,omitempty"`

	// CanaryMetric are measured for every batch. At most 20.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	CanaryMetric []CanaryMetric `json:"canaryMetric,omitempty"`

	// ProgressDeadlineSeconds is how many seconds one batch may go without progress. Time in which it is paused, or waits at the
	// partition, for a webhook or for the interval of a metric, does not count. 0 is no deadline. Minimum 0, default 600.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=600
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// FailurePolicy is what a missed deadline, a failed metric or a webhook that rejects leads to. Default Fail.
	// +kubebuilder:default=Fail
	// +optional
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`
}

// RolloutStrategyType is an order of growing and shrinking.
//
// +kubebuilder:validation:Enum=IncreaseFirst;DecreaseFirst
type RolloutStrategyType string

const (
	// IncreaseFirst grows the target before it shrinks the source: there are more pods for a while.
	IncreaseFirst RolloutStrategyType = "IncreaseFirst"
	// DecreaseFirst shrinks the source before it grows the target: there are fewer pods for a while.
	DecreaseFirst RolloutStrategyType = "DecreaseFirst"
)

// FailurePolicy is what a rollout does that cannot go on.
//
// +kubebuilder:validation:Enum=Fail;Pause;Revert
type FailurePolicy string

const (
	// FailOnFailure stops, lets go of the workload and leaves the pods as they are.
	FailOnFailure FailurePolicy = "Fail"
	// PauseOnFailure waits for a person.
	PauseOnFailure FailurePolicy = "Pause"
	// RevertOnFailure brings back what was before, in the same batches.
	RevertOnFailure FailurePolicy = "Revert"
)

// RolloutBatch is one step of a rollout.
type RolloutBatch struct {
	// Replicas is how many pods the batch has: a number, or a percentage of all, rounded up. Only the last batch may leave
	// it out: it takes what is left.
	// +kubebuilder:validation:XIntOrString
	// +optional
	Replicas *intstr.IntOrString `json:"replicas,omitempty"`

	// MaxUnavailable is how many of the updated pods may be unavailable when the batch is done: a number, or a percentage of
	// all, rounded down. Default 0.
	// +kubebuilder:validation:XIntOrString
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// InstanceInterval is how many seconds pass between two pods of the batch. Minimum 0. Absent means that the whole batch
	// begins at once.
	// +kubebuilder:validation:Minimum=0
	// +optional
	InstanceInterval *int32 `json:"instanceInterval,omitempty"`

	// BatchRolloutWebhooks are called for this batch, after those of the plan. At most 20.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	BatchRolloutWebhooks []RolloutWebhook `json:"batchRolloutWebhooks,omitempty"`

	// CanaryMetric are measured for this batch, besides those of the plan. At most 20.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	CanaryMetric []CanaryMetric `json:"canaryMetric,omitempty"`
}

// HookType says when a webhook is called.
//
// +kubebuilder:validation:Enum=initialize-rollout;pre-batch-rollout;post-batch-rollout;finalize-rollout
type HookType string

const (
	// InitializeRolloutHook is called before the workload is claimed.
	InitializeRolloutHook HookType = "initialize-rollout"
	// PreBatchRolloutHook is called before a batch begins.
	PreBatchRolloutHook HookType = "pre-batch-rollout"
	// PostBatchRolloutHook is called when a batch is done.
	PostBatchRolloutHook HookType = "post-batch-rollout"
	// FinalizeRolloutHook is called after the workload was let go, however the rollout ends.
	FinalizeRolloutHook HookType = "finalize-rollout"
)

// RolloutWebhook is a call over HTTP.
type RolloutWebhook struct {
	// Type says when it is called.
	Type HookType `json:"type"`

	// Name is for people, and for status. Unique among the hooks of its type in its list.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// URL is called: http or https.
	// +kubebuilder:validation:Pattern=`^https?://[^/?#\s]+[^\s]*$`
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`

	// Method of the request. Default POST.
	// +kubebuilder:default=POST
	// +kubebuilder:validation:Enum=POST;GET;PUT
	// +optional
	Method string `json:"method,omitempty"`

	// ExpectedStatus are the status codes that let the rollout pass. Default: any from 200 to 299. At most 20.
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=599
	// +listType=atomic
	// +optional
	ExpectedStatus []int32 `json:"expectedStatus,omitempty"`

	// Metadata is sent along in the body.
	// +optional
	Metadata *map[string]string `json:"metadata,omitempty"`

	// TimeoutSeconds is how long one call may take. Minimum 1, maximum 300, default 10.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}

// CanaryMetric is a number that must stay in a range while a batch is verified.
type CanaryMetric struct {
	// Name is for people, and for status. Unique in its list; a batch's own replaces the plan's of the same name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Interval is the time between two samples, and the range that the query may ask for: "30s", "5m". Default 60s, minimum
	// 1s.
	// +kubebuilder:default="60s"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// MetricsRange is where the number has to be.
	// +optional
	MetricsRange *MetricsExpectedRange `json:"metricsRange,omitempty"`

	// TemplateRef names the MetricTemplate that says where the number comes from.
	TemplateRef MetricTemplateReference `json:"templateRef"`

	// Count is how many samples in a row have to be in the range. Minimum 1, default 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +optional
	Count *int32 `json:"count,omitempty"`

	// FailureLimit is how many samples of a batch may be out of the range. Minimum 0, default 0.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +optional
	FailureLimit *int32 `json:"failureLimit,omitempty"`

	// NoData says what a query without a number means. Default Wait.
	// +kubebuilder:default=Wait
	// +optional
	NoData NoDataPolicy `json:"noData,omitempty"`
}

// NoDataPolicy is what a query without a number means.
//
// +kubebuilder:validation:Enum=Wait;Fail;Ignore
type NoDataPolicy string

const (
	// WaitOnNoData asks again after the interval.
	WaitOnNoData NoDataPolicy = "Wait"
	// FailOnNoData counts it as a sample out of the range.
	FailOnNoData NoDataPolicy = "Fail"
	// IgnoreNoData counts it as a sample in the range.
	IgnoreNoData NoDataPolicy = "Ignore"
)

// MetricsExpectedRange is a closed range; an absent end is open.
type MetricsExpectedRange struct {
	// Min is the lowest good number: a whole number, or a string such as "0.99".
	// +kubebuilder:validation:XIntOrString
	// +optional
	Min *intstr.IntOrString `json:"min,omitempty"`

	// Max is the highest good number: a whole number, or a string such as "0.01".
	// +kubebuilder:validation:XIntOrString
	// +optional
	Max *intstr.IntOrString `json:"max,omitempty"`
}

// MetricTemplateReference names a MetricTemplate.
type MetricTemplateReference struct {
	// APIVersion is standard.oam.dev/v1alpha1, which is also the default.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind is MetricTemplate, which is also the default.
	// +optional
	Kind string `json:"kind,omitempty"`

	// Name of the template.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the template. Default: that of the rollout.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}
