// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// ClaimHash returns the decimal hash of the claim templates' names and specs, and the empty string if there are
// none. Their order, defaulted fields and the spelling of quantities do not matter. It is stored, so it must not
// change with the order of fields in a library.
func ClaimHash(claims []corev1.PersistentVolumeClaim) (string, error) {
	if len(claims) == 0 {
		return "", nil
	}
	sorted := slices.SortedStableFunc(slices.Values(claims), func(a, b corev1.PersistentVolumeClaim) int {
		return strings.Compare(a.Name, b.Name)
	})
	sum := fnv.New64a()
	for i := range sorted {
		spec := sorted[i].Spec.DeepCopy()
		dropEmpty(reflect.ValueOf(spec).Elem())
		defaultClaim(spec)
		respell(reflect.ValueOf(spec).Elem())
		tree, err := treeOf(spec)
		if err != nil {
			return "", fmt.Errorf("encoding the claim template %q: %w", sorted[i].Name, err)
		}
		raw, err := json.Marshal(map[string]any{"name": sorted[i].Name, "spec": tree})
		if err != nil {
			return "", fmt.Errorf("encoding the claim template %q: %w", sorted[i].Name, err)
		}
		_, _ = sum.Write(raw) // hash writers never fail
	}
	return strconv.FormatUint(sum.Sum64(), 10), nil
}
