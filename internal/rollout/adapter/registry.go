// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// Registry knows kinds of workloads by group, version and kind.
type Registry struct {
	kinds map[schema.GroupVersionKind]Kind
}

// NewRegistry returns a registry of the kinds that have a file here, and of those that are declared. A declared kind takes the
// place of one that is known here.
func NewRegistry(declared ...Declaration) (Registry, error) {
	r := Registry{kinds: map[schema.GroupVersionKind]Kind{}}
	for _, k := range []Kind{deployment{}, statefulSet{}, daemonSet{}, cloneSet{}, advancedStatefulSet{}, inPlaceSet{}, cafeDeployment{}} {
		r.kinds[k.ID()] = k
	}
	for _, d := range declared {
		k, err := d.described()
		if err != nil {
			return Registry{}, err
		}
		r.kinds[k.ID()] = k
	}
	return r, nil
}

// Of returns the kind of a workload. The error says what to configure when there is none.
func (r Registry) Of(ref rolloutv1alpha1.WorkloadReference) (Kind, error) {
	id := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if k, known := r.kinds[id]; known {
		return k, nil
	}
	return nil, fmt.Errorf("nobody has said how a %s of %s is rolled out: annotate its CustomResourceDefinition with %s, and with %s, %s and %s "+
		"to update it in place; or describe it in the manager's file of kinds",
		ref.Kind, ref.APIVersion, annotationOf(replicasPath), annotationOf(partitionPath), annotationOf(updatedPath), annotationOf(updatedAvailablePath))
}
