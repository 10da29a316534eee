// SPDX-License-Identifier: Apache-2.0

package step

import "fmt"

// Counted is a number with the words that fit it, for reasons: 1 pod is, 2 pods are, 0 pods are.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
