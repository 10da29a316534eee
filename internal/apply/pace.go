// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/step"
)

// slowStart takes 1 unit, then 2, then 4 and so on. What fails once, such as a quota that is used up or a right that is
// missing, would fail for all, so a batch with a failure is the last.
func (a *Applier) slowStart(ctx context.Context, owner types.UID, units [][]step.Step) []Outcome {
	var outcomes []Outcome
	for size := 1; len(units) > 0; size *= 2 {
		batch := units[:min(size, len(units))]
		units = units[len(batch):]
		taken := a.inParallel(ctx, owner, batch)
		outcomes = append(outcomes, taken...)
		if Errors(taken) != nil {
			break
		}
	}
	return outcomes
}

// apart takes the units that delete a pod out of the others.
func apart(units [][]step.Step) (others, deletions [][]step.Step) {
	for _, unit := range units {
		if slices.ContainsFunc(unit, func(s step.Step) bool { _, is := s.(step.DeletePod); return is }) {
			deletions = append(deletions, unit)
		} else {
			others = append(others, unit)
		}
	}
	return others, deletions
}

// failures are the units of each object that failed when they were tried last, by their names. A unit that nobody plans any
// more is forgotten. The zero value is ready for use, and safe for concurrent use.
type failures struct {
	mu sync.Mutex
	of map[types.UID]map[string]bool
}

// last puts the units behind the others that failed before, and leaves the order otherwise as it is.
func (f *failures) last(owner types.UID, units [][]step.Step) [][]step.Step {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := f.of[owner]
	if len(failed) == 0 {
		return units
	}
	var first, last [][]step.Step
	for _, unit := range units {
		if failed[unitOf(unit[0])] {
			last = append(last, unit)
		} else {
			first = append(first, unit)
		}
	}
	return append(first, last...)
}

func (f *failures) note(owner types.UID, planned []step.Step, outcomes []Outcome) {
	tried, failed := map[string]bool{}, map[string]bool{}
	for _, o := range outcomes {
		unit := unitOf(o.Step)
		tried[unit] = true
		if unit != "" && o.Err != nil && !IsConflict(o.Err) {
			failed[unit] = true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range planned {
		if unit := unitOf(s); f.of[owner][unit] && !tried[unit] {
			failed[unit] = true
		}
	}
	delete(f.of, owner)
	if len(failed) == 0 {
		return
	}
	if f.of == nil {
		f.of = map[types.UID]map[string]bool{}
	}
	f.of[owner] = failed
}

func (f *failures) forget(owner types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, owner)
}
