// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Limits are the numbers a workload asks for, in pods.
type Limits struct {
	// Replicas is the number of pods wanted.
	Replicas int
	// Partition is the number of pods to keep on older revisions, 0 to Replicas.
	Partition int
	// Surge is the number of pods allowed above Replicas while pods are
	// updated or replaced; 0 while paused.
	Surge int
	// Unavailable bounds updates and the deletion of available pods.
	Unavailable int
	// CreateUnavailable bounds creations: not more than this less the pods
	// that are unavailable already. Nil means no limit.
	CreateUnavailable *int
}

// Spec holds the fields that Limits are computed from, as the user wrote them.
// An absent field means its default.
type Spec struct {
	Replicas            *int32              // default 1
	Partition           *intstr.IntOrString // default 0
	MaxSurge            *intstr.IntOrString // default 0
	MaxUnavailable      *intstr.IntOrString // default 20%
	ScaleMaxUnavailable *intstr.IntOrString // default: no limit
	Paused              bool
}

// NewLimits resolves the fields of a spec. Percentages are of the replicas.
//
// Partition, surge and the limit of creations round up. Unavailable rounds up
// too, but down when there is a surge, so that a surge is used before an
// available pod is given up. A partition percentage below 100% that would keep
// every pod of several keeps one less, so that a release always starts
// somewhere. While paused there is no surge.
//
// The error joins one error for each field that cannot be read.
func NewLimits(spec Spec) (Limits, error) {
	replicas := int(ptr.Deref(spec.Replicas, 1))
	var errs []error
	resolve := func(v *intstr.IntOrString, r Rounding, field string) int {
		n, err := Resolve(v, replicas, r, field)
		if err != nil {
			errs = append(errs, err)
		}
		return n
	}

	limits := Limits{Replicas: replicas}
	partition, err := Partition(spec.Partition, replicas, "spec.updateStrategy.partition")
	if err != nil {
		errs = append(errs, err)
	}
	limits.Partition = partition
	limits.Surge = resolve(spec.MaxSurge, Up, "spec.updateStrategy.maxSurge")
	if spec.Paused {
		limits.Surge = 0
	}

	unavailable := spec.MaxUnavailable
	if unavailable == nil {
		unavailable = ptr.To(intstr.FromString("20%"))
	}
	rounding := Up
	if limits.Surge > 0 {
		rounding = Down
	}
	limits.Unavailable = resolve(unavailable, rounding, "spec.updateStrategy.maxUnavailable")
	if spec.ScaleMaxUnavailable != nil {
		limits.CreateUnavailable = ptr.To(resolve(spec.ScaleMaxUnavailable, Up, "spec.scaleStrategy.maxUnavailable"))
	}
	if err := errors.Join(errs...); err != nil {
		return Limits{}, err
	}
	return limits, nil
}

// Partition resolves a partition as NewLimits does. The error names the field.
func Partition(v *intstr.IntOrString, replicas int, field string) (int, error) {
	resolved, err := Resolve(v, replicas, Up, field)
	return wholePartition(v, replicas, resolved), err
}

// wholePartition applies what is special about a partition: only the literal
// "100%" keeps all of several pods, and it never exceeds the replicas.
func wholePartition(v *intstr.IntOrString, replicas, resolved int) int {
	percentage := v != nil && v.Type == intstr.String && v.StrVal != "100%"
	if percentage && replicas > 1 && resolved == replicas {
		return replicas - 1
	}
	return min(max(resolved, 0), replicas)
}
