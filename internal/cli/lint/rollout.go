// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

var (
	apiVersions = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z]([-a-z0-9]*[a-z0-9])?$`)
	kinds       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	objectNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	percentages = regexp.MustCompile(`^([0-9]{1,2}([.][0-9]{1,6})?|100([.]0{1,6})?)%$`)
)

// Rollout is what is wrong with a RolloutTrait, by the rules of its API; size is how many pods its workload has, nil when that is
// not known.
func Rollout(r *rolloutv1alpha1.RolloutTrait, size *int) []Finding {
	var found []Finding
	name(r.ObjectMeta, &found)
	spec := place{"spec", &found}
	reference(spec.at("targetRef"), r.Spec.TargetRef)
	sources(spec.at("sourceRef"), &r.Spec)
	checkPlan(spec.at("rolloutPlan"), &r.Spec.RolloutPlan)
	if len(found) == 0 {
		_, wrong := Goals(&r.Spec, size)
		found = append(found, wrong...)
	}
	return found
}

func name(object metav1.ObjectMeta, found *[]Finding) {
	metadata, name := place{"metadata.name", found}, object.Name
	switch {
	case name == "" && object.GenerateName == "":
		metadata.report(nil, "is missing")
		return
	case name == "":
		return
	}
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		metadata.report(name, "%s", strings.Join(wrong, "; "))
	}
}

func reference(p place, ref rolloutv1alpha1.WorkloadReference) {
	p.at("apiVersion").text(ref.APIVersion, 317, apiVersions, "apps/v1")
	p.at("kind").text(ref.Kind, 63, kinds, "Deployment")
	p.at("name").text(ref.Name, 253, objectNames, "web-v2")
}

func sources(p place, spec *rolloutv1alpha1.RolloutTraitSpec) {
	p.atMost(len(spec.SourceRef), 1)
	for i, source := range spec.SourceRef {
		reference(p.item(i), source)
		switch target := spec.TargetRef; {
		case source.APIVersion != target.APIVersion || source.Kind != target.Kind:
			p.item(i).report(source.Kind+" of "+source.APIVersion, "it is of the same kind as targetRef, %s of %s", target.Kind, target.APIVersion)
		case source.Name == target.Name:
			p.item(i).report(source.Name, "it is another object than targetRef; leave it out for a kind that holds two versions at once")
		}
	}
}

func checkPlan(p place, plan *rolloutv1alpha1.RolloutPlan) {
	p.at("rolloutStrategy").oneOf(string(plan.RolloutStrategy), true, string(rolloutv1alpha1.IncreaseFirst), string(rolloutv1alpha1.DecreaseFirst))
	p.at("failurePolicy").oneOf(string(plan.FailurePolicy), true,
		string(rolloutv1alpha1.FailOnFailure), string(rolloutv1alpha1.PauseOnFailure), string(rolloutv1alpha1.RevertOnFailure))
	p.at("targetSize").between(plan.TargetSize, 0, maxInt32)
	p.at("numBatches").between(plan.NumBatches, 1, 1000)
	p.at("batchPartition").between(plan.BatchPartition, 0, maxInt32)
	p.at("progressDeadlineSeconds").between(plan.ProgressDeadlineSeconds, 0, maxInt32)
	if n := len(plan.RolloutBatches); n > 0 && plan.NumBatches != nil && int(*plan.NumBatches) != n {
		p.at("numBatches").report(*plan.NumBatches, "leave it out, or use %d, the number of rolloutBatches", n)
	}
	p.at("rolloutBatches").atMost(len(plan.RolloutBatches), 100)
	for i, b := range plan.RolloutBatches {
		checkBatch(p.at("rolloutBatches").item(i), b, i == len(plan.RolloutBatches)-1)
	}
	checkHooks(p.at("rolloutWebhooks"), plan.RolloutWebhooks, allHooks)
	checkMetrics(p.at("canaryMetric"), plan.CanaryMetric)
}

func checkBatch(p place, b rolloutv1alpha1.RolloutBatch, last bool) {
	share(p.at("replicas"), b.Replicas)
	switch {
	case b.Replicas == nil && !last:
		p.at("replicas").report(nil, "is missing: only the last batch may leave it out")
	case b.Replicas != nil && last && b.Replicas.Type == intstr.Int && b.Replicas.IntVal == 0:
		p.at("replicas").report(b.Replicas, "the last batch takes something: leave it out for all that is left")
	}
	share(p.at("maxUnavailable"), b.MaxUnavailable)
	p.at("instanceInterval").between(b.InstanceInterval, 0, maxInt32)
	checkHooks(p.at("batchRolloutWebhooks"), b.BatchRolloutWebhooks, batchHooks)
	checkMetrics(p.at("canaryMetric"), b.CanaryMetric)
}

func share(p place, v *intstr.IntOrString) {
	if v != nil && (v.Type == intstr.Int && v.IntVal < 0 || v.Type == intstr.String && !percentages.MatchString(v.StrVal)) {
		p.report(v, "use a whole number of 0 or more, or a percentage from 0%% to 100%% such as 25%% or 12.5%%, with at most six decimals")
	}
}
