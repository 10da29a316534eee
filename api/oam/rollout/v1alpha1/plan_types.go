// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutPlan says in which steps a workload changes, and what each step waits for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.numBatches) || !has(self.rolloutBatches) || size(self.rolloutBatches) in [0, self.numBatches] || oldSelf.optMap(o, has(o.numBatches) && o.numBatches == self.numBatches && has(o.rolloutBatches) && size(o.rolloutBatches) == size(self.rolloutBatches)).orValue(false)",optionalOldSelf=true,messageExpression="'must be left out, or be the number of rolloutBatches, which is %d, and is %d'.format([size(self.rolloutBatches), self.numBatches])",message="must be left out, or be the number of rolloutBatches",fieldPath=".numBatches"
type RolloutPlan struct {
	// RolloutStrategy is the order of growing and shrinking where two objects are rolled out. It has no effect on kinds
	// that hold two versions at once. Default IncreaseFirst.
	// +kubebuilder:default=IncreaseFirst
	// +optional
	RolloutStrategy RolloutStrategyType `json:"rolloutStrategy,omitempty"`

	// TargetSize is the final number of pods. A scale needs it. A rollout of two objects has at least the pods of the source,
	// and by default those of both. In a rollout of one object it can only be the size that the object has. Minimum 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	TargetSize *int32 `json:"targetSize,omitempty"`

	// NumBatches is the number of equal batches when RolloutBatches is absent; the later ones take what does not divide.
	// Together with RolloutBatches it can only be their number. Minimum 1, maximum 1000, default 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	NumBatches *int32 `json:"numBatches,omitempty"`

	// RolloutBatches are the batches, in their order. The last one takes what is left, so those before it must leave
	// something; as a number it must be just that. At most 100.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(i, b, has(b.replicas) || i == size(self) - 1)",messageExpression="'must have replicas in each batch but the last, and these batches, counted from 0, have none: %s'.format([self.transformList(i, b, !has(b.replicas) && i < size(self) - 1, i)])",message="must have replicas in each batch but the last"
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || !has(self[size(self) - 1].replicas) || self[size(self) - 1].replicas != 0",message="must not have 0 replicas in the last batch, because the batches before it must leave it something: leave them out for all that is left"
	// +kubebuilder:validation:XValidation:rule="self.transformList(i, b, has(b.replicas) && type(b.replicas) == int, int(b.replicas)).sum() <= 2147483647",messageExpression="'must not have more than 2147483647 replicas in all batches together, and has %d'.format([self.transformList(i, b, has(b.replicas) && type(b.replicas) == int, int(b.replicas)).sum()])",message="must not have more than 2147483647 replicas in all batches together"
	// +kubebuilder:validation:XValidation:rule="self.transformList(i, b, i < size(self) - 1 && has(b.replicas) && type(b.replicas) == string && [b.replicas].all(v, v.matches('^[0-9]{1,3}([.][0-9]{1,6})?%$')), [b.replicas].map(v, int(double(v.replace('%', '')) * 1000000.0 + 0.5))[0]).sum() < 100000000",messageExpression="'must leave something to the last batch, and the percentages of those before it add up to %s%%, not to less than 100%%'.format([double(self.transformList(i, b, i < size(self) - 1 && has(b.replicas) && type(b.replicas) == string && [b.replicas].all(v, v.matches('^[0-9]{1,3}([.][0-9]{1,6})?%$')), [b.replicas].map(v, int(double(v.replace('%', '')) * 1000000.0 + 0.5))[0]).sum()) / 1000000.0])",message="must leave something to the last batch: the percentages of those before it must add up to less than 100%"
	// +listType=atomic
	// +optional
	RolloutBatches []RolloutBatch `json:"rolloutBatches,omitempty"`

	// BatchPartition is the number, from 0, of the last batch that may be rolled; the rollout then waits. While it is in
	// progress, this may only grow or be removed. Minimum 0. Absent means all.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
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

	// RolloutWebhooks are called in their order: those for batches in every batch. Names are unique by type. At most 20.
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.type == a.type && b.name == a.name))",messageExpression="'must have each name once for a type, and these stand more than once: %s'.format([self.filter(a, !self.exists_one(b, b.type == a.type && b.name == a.name)).map(a, a.name)])",message="must have each name once for a type"
	// +listType=atomic
	// +optional
	RolloutWebhooks []RolloutWebhook `json:"rolloutWebhooks,omitempty"`

	// CanaryMetric are measured for every batch. Names are unique. At most 20.
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.name == a.name))",messageExpression="'must have each name once, and these stand more than once: %s'.format([self.filter(a, !self.exists_one(b, b.name == a.name)).map(a, a.name)])",message="must have each name once"
	// +listType=atomic
	// +optional
	CanaryMetric []CanaryMetric `json:"canaryMetric,omitempty"`

	// ProgressDeadlineSeconds is how many seconds one batch may go without progress. Time in which it is paused, or waits at the
	// partition, for a webhook or for the interval of a metric, does not count. 0 is no deadline. Minimum 0, default 600.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
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

// Rules for numbers that may be strings stand at the type around the field, and look at the field through a list: servers before
// Kubernetes 1.34 do not know how long such a string may be, and would take a rule that stands at the field for too costly.

// RolloutBatch is one step of a rollout.
//
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || [self.replicas].all(v, type(v) == int ? 0 <= v && v <= 2147483647 : v.matches('^([0-9]{1,2}([.][0-9]{1,6})?|100([.]0{1,6})?)%$'))",message="must be a whole number from 0 to 2147483647, or a percentage from 0% to 100% such as 25% or 12.5%, with at most six decimals",fieldPath=".replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.maxUnavailable) || [self.maxUnavailable].all(v, type(v) == int ? 0 <= v && v <= 2147483647 : v.matches('^([0-9]{1,2}([.][0-9]{1,6})?|100([.]0{1,6})?)%$'))",message="must be a whole number from 0 to 2147483647, or a percentage from 0% to 100% such as 25% or 12.5%, with at most six decimals",fieldPath=".maxUnavailable"
type RolloutBatch struct {
	// Replicas is how many pods the batch has: a number, or a percentage of all, rounded up. Only the last batch may leave
	// it out: it takes what is left. A percentage has at most six decimals.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Replicas *intstr.IntOrString `json:"replicas,omitempty"`

	// MaxUnavailable is how many of the updated pods may be unavailable when the batch is done: a number, or a percentage of
	// all, rounded down. Default 0.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=16
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// InstanceInterval is how many seconds pass between two pods of the batch. Minimum 0. Absent means that the whole batch
	// begins at once.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	InstanceInterval *int32 `json:"instanceInterval,omitempty"`

	// BatchRolloutWebhooks are called for this batch, after those of the plan: pre-batch-rollout and post-batch-rollout.
	// Names are unique by type. At most 20.
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:XValidation:rule="self.type in ['pre-batch-rollout', 'post-batch-rollout']",messageExpression="'must be pre-batch-rollout or post-batch-rollout in a batch, and is %s: the others belong into rolloutWebhooks of the plan'.format([self.type])",message="must be pre-batch-rollout or post-batch-rollout in a batch",fieldPath=".type"
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.type == a.type && b.name == a.name))",messageExpression="'must have each name once for a type, and these stand more than once: %s'.format([self.filter(a, !self.exists_one(b, b.type == a.type && b.name == a.name)).map(a, a.name)])",message="must have each name once for a type"
	// +listType=atomic
	// +optional
	BatchRolloutWebhooks []RolloutWebhook `json:"batchRolloutWebhooks,omitempty"`

	// CanaryMetric are measured for this batch, besides those of the plan. Names are unique. At most 20.
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.name == a.name))",messageExpression="'must have each name once, and these stand more than once: %s'.format([self.filter(a, !self.exists_one(b, b.name == a.name)).map(a, a.name)])",message="must have each name once"
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
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != ''",message="must be a URL with http or https and a host, such as https://checks.example.com/gate"
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

	// Metadata is sent along in the body. At most 64 entries, each with up to 1024 characters.
	// +kubebuilder:validation:MaxProperties=64
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
//
// +kubebuilder:validation:XValidation:rule="has(self.metricsRange) && (has(self.metricsRange.min) || has(self.metricsRange.max))",message="must have min, max or both",fieldPath=".metricsRange",reason=FieldValueRequired
type CanaryMetric struct {
	// Name is for people, and for status. Unique in its list; a batch's own replaces the plan's of the same name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Interval is the time between two samples, and the range that the query may ask for: "30s", "5m". Default 60s, minimum
	// 1s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(h|m|s|ms))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 30s or 1m30s"
	// +kubebuilder:default="60s"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// MetricsRange is where the number has to be. It has at least one end.
	// +optional
	MetricsRange *MetricsExpectedRange `json:"metricsRange,omitempty"`

	// TemplateRef names the MetricTemplate that says where the number comes from.
	TemplateRef MetricTemplateReference `json:"templateRef"`

	// Count is how many samples in a row have to be in the range. Minimum 1, default 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Count *int32 `json:"count,omitempty"`

	// FailureLimit is how many samples of a batch may be out of the range. Minimum 0, default 0.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
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
//
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || [self.min, self.max].exists(v, type(v) == string && !v.matches('^[-+]?[0-9]+([.][0-9]+)?$')) || double(self.min) <= double(self.max)",messageExpression="'must not be above max, which is %s, and is %s'.format([self.max, self.min])",message="must not be above max",fieldPath=".min"
// +kubebuilder:validation:XValidation:rule="!has(self.min) || [self.min].all(v, type(v) == int ? -2147483648 <= v && v <= 2147483647 : v.matches('^[-+]?[0-9]+([.][0-9]+)?$'))",message="must be a whole number from -2147483648 to 2147483647, or a decimal number in quotes such as '0.99'",fieldPath=".min"
// +kubebuilder:validation:XValidation:rule="!has(self.max) || [self.max].all(v, type(v) == int ? -2147483648 <= v && v <= 2147483647 : v.matches('^[-+]?[0-9]+([.][0-9]+)?$'))",message="must be a whole number from -2147483648 to 2147483647, or a decimal number in quotes such as '0.99'",fieldPath=".max"
type MetricsExpectedRange struct {
	// Min is the lowest good number: a whole number, or a string such as "0.99".
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Min *intstr.IntOrString `json:"min,omitempty"`

	// Max is the highest good number: a whole number, or a string such as "0.01".
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Max *intstr.IntOrString `json:"max,omitempty"`
}

// MetricTemplateReference names a MetricTemplate.
type MetricTemplateReference struct {
	// APIVersion is standard.oam.dev/v1alpha1, which is also the default.
	// +kubebuilder:validation:Enum="";standard.oam.dev/v1alpha1
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind is MetricTemplate, which is also the default.
	// +kubebuilder:validation:Enum="";MetricTemplate
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
