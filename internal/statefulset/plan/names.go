// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/ordinal"
)

// Live are the ordinals that pods of a set are to have, ascending: the first ones from the start on that are not
// reserved, as many as there are replicas.
func Live(set *kruisev1beta1.StatefulSet) ([]int, error) {
	reserved, err := ordinal.ParseReserved(set.Spec.ReserveOrdinals)
	if err != nil {
		return nil, fmt.Errorf("spec.reserveOrdinals: %w", err)
	}
	start := 0
	if set.Spec.Ordinals != nil {
		start = int(set.Spec.Ordinals.Start)
	}
	if start < 0 {
		return nil, fmt.Errorf("spec.ordinals.start: must not be negative, and is %d", start)
	}
	return reserved.Live(start, max(0, int(ptr.Deref(set.Spec.Replicas, 1)))), nil
}
