// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestALongLineIsNotLostWhateverItsLength(t *testing.T) {
	const head, tail = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"`, `"}}`
	for _, length := range []int{200, 4095, 4096, 4097, 8192, 12288} {
		text := head + strings.Repeat("x", length-len(head)-len(tail)) + tail
		for _, end := range []string{"", "\n"} {
			var found []string
			err := Each("file", strings.NewReader(text+end), func(kind metav1.TypeMeta, _ string, _ []byte) error {
				found = append(found, kind.Kind)
				return nil
			})
			if got := fmt.Sprint(found); err != nil || got != "[ConfigMap]" {
				t.Errorf("%d bytes and %q: %s, error %v", length, end, got, err)
			}
		}
	}
}
