// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// State is where a rollout is: a rolling state, and within rollingInBatches the state of the batch.
type State struct {
	Rolling rolloutv1alpha1.RollingState
	Batch   rolloutv1alpha1.BatchRollingState
}

// The states.
var (
	None              = State{}
	Locating          = State{Rolling: rolloutv1alpha1.LocatingTargetAppState}
	Verifying         = State{Rolling: rolloutv1alpha1.VerifyingSpecState}
	Initializing      = State{Rolling: rolloutv1alpha1.InitializingState}
	BatchInitializing = State{rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.BatchInitializingState}
	BatchInRolling    = State{rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.BatchInRollingState}
	BatchVerifying    = State{rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.BatchVerifyingState}
	BatchVerifyFailed = State{rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.BatchVerifyFailedState}
	BatchFinalizing   = State{rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.BatchFinalizingState}
	BatchReady        = State{rolloutv1alpha1.RollingInBatchesState, rolloutv1alpha1.BatchReadyState}
	Finalising        = State{Rolling: rolloutv1alpha1.FinalisingState}
	Succeeded         = State{Rolling: rolloutv1alpha1.RolloutSucceedState}
	Failing           = State{Rolling: rolloutv1alpha1.RolloutFailingState}
	Failed            = State{Rolling: rolloutv1alpha1.RolloutFailedState}
	Abandoning        = State{Rolling: rolloutv1alpha1.RolloutAbandoningState}
	Deleting          = State{Rolling: rolloutv1alpha1.RolloutDeletingState}
)

// States are all of them, in the order of a rollout that goes well.
func States() []State {
	return []State{
		None, Locating, Verifying, Initializing, BatchInitializing, BatchInRolling, BatchVerifying, BatchVerifyFailed, BatchFinalizing, BatchReady,
		Finalising, Succeeded, Failing, Failed, Abandoning, Deleting,
	}
}

// String is the state as people read it: "rollingInBatches/batchReady".
func (s State) String() string {
	switch {
	case s == None:
		return "(none)"
	case s.Batch == "":
		return string(s.Rolling)
	}
	return fmt.Sprintf("%s/%s", s.Rolling, s.Batch)
}

// StateOf is the state that a status speaks of. What stands in batchRollingState outside of rollingInBatches is left over
// from before, and means nothing.
func StateOf(s *rolloutv1alpha1.RolloutStatus) State {
	if s.RollingState != rolloutv1alpha1.RollingInBatchesState {
		return State{Rolling: s.RollingState}
	}
	return State{s.RollingState, s.BatchRollingState}
}

// runs tells whether a rollout is under way that something newer, a failure or a deletion can end.
func (s State) runs() bool {
	return s != None && s != Deleting && !s.Rolling.IsFinal()
}

// Event is what has been seen in a state.
type Event string

// The events.
const (
	// Created: there is a rollout that nothing was done for yet.
	Created Event = "created"
	// Located: the workloads are there.
	Located Event = "target and source located"
	// Verified: the plan can be carried out.
	Verified Event = "verified"
	// AlreadyDone: there is nothing to roll out.
	AlreadyDone Event = "already done"
	// Impossible: the plan can never be carried out. Nothing was claimed.
	Impossible Event = "cannot ever succeed"
	// Claimed: the webhooks passed, and the workloads are held.
	Claimed Event = "hooks passed, workload claimed"
	// Prepared: the webhooks before the batch passed.
	Prepared Event = "pre-batch hooks passed"
	// Sized: the batch's size is set on the workload.
	Sized Event = "the batch's size is set on the workload"
	// Met: the pods are available, and the metrics are in range.
	Met Event = "updated pods available, metrics in range"
	// Missed: the deadline has passed, or a metric has failed.
	Missed Event = "deadline, or metric failed"
	// Retried: a person has had it taken up again.
	Retried Event = "taken up again"
	// BatchDone: the webhooks after the batch passed, and there are more batches.
	BatchDone Event = "post-batch hooks passed, more batches"
	// AllDone: the webhooks after the last batch passed.
	AllDone Event = "post-batch hooks passed, last batch"
	// Allowed: the next batch may begin.
	Allowed Event = "not paused, batchPartition allows the next"
	// Released: the workloads are let go, and the last webhooks have answered.
	Released Event = "workload released"
	// Broken: it cannot go on.
	Broken Event = "failed"
	// Superseded: something newer is asked for.
	Superseded Event = "target, source or targetSize changed"
	// Asked: the spec asks for something new after the end.
	Asked Event = "target, source or targetSize changed after the end"
	// Deleted: the object is being deleted.
	Deleted Event = "deleted"
)

// Events are all of them.
func Events() []Event {
	return []Event{
		Created, Located, Verified, AlreadyDone, Impossible, Claimed, Prepared, Sized, Met, Missed, Retried, BatchDone, AllDone, Allowed,
		Released, Broken, Superseded, Asked, Deleted,
	}
}

// Edge is a way from one state to another.
type Edge struct {
	From State
	On   Event
	To   State
}

// ways are all ways between states but those that every running state has.
var ways = map[State]map[Event]State{
	None:              {Created: Locating, Deleted: Deleting},
	Locating:          {Located: Verifying},
	Verifying:         {Verified: Initializing, AlreadyDone: Succeeded, Impossible: Failed},
	Initializing:      {Claimed: BatchInitializing},
	BatchInitializing: {Prepared: BatchInRolling},
	BatchInRolling:    {Sized: BatchVerifying, Missed: BatchVerifyFailed},
	BatchVerifying:    {Met: BatchFinalizing, Missed: BatchVerifyFailed},
	BatchVerifyFailed: {Retried: BatchInRolling},
	BatchFinalizing:   {BatchDone: BatchReady, AllDone: Finalising},
	BatchReady:        {Allowed: BatchInitializing},
	Finalising:        {Released: Succeeded},
	Failing:           {Released: Failed},
	Abandoning:        {Released: Locating},
	Succeeded:         {Asked: Locating, Deleted: Deleting},
	Failed:            {Asked: Locating, Deleted: Deleting},
	Deleting:          {},
}

// always are the ways that every running state has.
var always = map[Event]State{Broken: Failing, Superseded: Abandoning, Deleted: Deleting}

// Follow is the state that an event leads to. There is none for a pair that the table does not have.
func Follow(s State, e Event) (State, bool) {
	if to, known := ways[s][e]; known {
		return to, true
	}
	if to, known := always[e]; known && s.runs() && s != to {
		return to, true
	}
	return State{}, false
}

// Edges are all ways between states, in a fixed order.
func Edges() []Edge {
	var edges []Edge
	for _, s := range States() {
		for _, e := range slices.SortedFunc(maps.Keys(eventsFrom(s)), func(a, b Event) int {
			return cmp.Compare(slices.Index(Events(), a), slices.Index(Events(), b))
		}) {
			to, _ := Follow(s, e)
			edges = append(edges, Edge{s, e, to})
		}
	}
	return edges
}

func eventsFrom(s State) map[Event]bool {
	found := map[Event]bool{}
	for _, e := range Events() {
		if _, known := Follow(s, e); known {
			found[e] = true
		}
	}
	return found
}

// Always tells whether every running state can be left by an event.
func Always(e Event) bool {
	_, known := always[e]
	return known
}
