// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"slipway.dev/slipway/internal/apply"
)

// afterConflict is how soon to look again when a write was refused because the view was old. The event
// that brings the newer version usually comes sooner.
const afterConflict = time.Second

// Result is how a pass ends: with what went wrong, or with the time of the next look. A step or a report that was
// refused because the view was old is no error; it is looked again soon. A wait of 0 is none.
func Result(outcomes []apply.Outcome, learning, reporting error, waits ...time.Duration) (ctrl.Result, error) {
	refused := apply.Conflicts(outcomes)
	if apply.IsConflict(reporting) { // the object has changed, or its cache is behind: neither is an error
		refused, reporting = true, nil
	}
	if err := errors.Join(apply.Errors(outcomes), learning, reporting); err != nil {
		return ctrl.Result{}, err
	}
	if refused {
		waits = append(waits, afterConflict)
	}
	return ctrl.Result{RequeueAfter: soonest(waits)}, nil
}

// soonest is the shortest of the waits, of which 0 is none.
func soonest(waits []time.Duration) time.Duration {
	var first time.Duration
	for _, wait := range waits {
		if first == 0 || wait != 0 && wait < first {
			first = wait
		}
	}
	return first
}
