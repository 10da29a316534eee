// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"hash/fnv"

	"k8s.io/apimachinery/pkg/types"
)

// idAlphabet has no vowels and nothing that looks like something else, so no id is a word or misread.
const idAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// ID is the n-th id of a fixed sequence that depends on the set alone. A set gives each new pod the first that nothing
// uses.
//
// A manager that has lost its memory and looks at an old cache therefore asks for the same names again, and the API
// server refuses the second pod: no slot is ever filled twice.
func ID(set types.UID, n int) string {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s/%d", set, n)
	rest := sum.Sum64()
	id := make([]byte, 5)
	for i := range id {
		id[i] = idAlphabet[rest%uint64(len(idAlphabet))]
		rest /= uint64(len(idAlphabet))
	}
	return string(id)
}
