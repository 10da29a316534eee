// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
)

// Real containers take seconds to start and to end, most of which is waiting: a spec that has several sets does with all
// of them what it does at the same time.

// together runs all bodies at the same time, and returns when the last one has ended.
func together(bodies ...func()) {
	var all sync.WaitGroup
	for _, body := range bodies {
		all.Go(func() {
			defer GinkgoRecover()
			body()
		})
	}
	all.Wait()
}

// everyKindTogether does the same for each kind of workload, at the same time, in one spec.
func everyKindTogether(body func(kind realKind)) {
	together(func() { body(realCloneSet) }, func() { body(realStatefulSet) })
}

// called makes the name of a set that has sets of other kinds beside it.
func (k realKind) called(name string) string { return strings.ToLower(k.name) + "-" + name }
