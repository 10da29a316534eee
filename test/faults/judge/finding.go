// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"time"
)

// Invariant is a promise that must hold whatever breaks.
type Invariant string

// The promises, and for each what breaks it.
const (
	// Budget: a write took an available pod although as many were unavailable as may be.
	Budget Invariant = "unavailable"
	// Surge: a pod was created above replicas and surge.
	Surge Invariant = "surge"
	// Partition: a pod that was to stay on an older revision got the new one.
	Partition Invariant = "partition"
	// Ordinal: two pods of one ordinal or instance, an ordinal that is not wanted, or a pod removed without waiting for its node.
	Ordinal Invariant = "ordinal"
	// Order: a pod of an ordered set was created, updated or deleted before its turn.
	Order Invariant = "order"
	// InPlace: a pod that must be kept was deleted, changed its IP, or was changed while in service.
	InPlace Invariant = "in place"
	// Foreign: a pod of somebody else was written to.
	Foreign Invariant = "foreign pod"
	// Lease: a write of a manager that did not hold the lease.
	Lease Invariant = "lease"
	// Deletion: what a person wanted deleted stayed, or a finalizer of others was removed.
	Deletion Invariant = "deletion"
	// Claim: a claim was deleted that is in use or to be kept.
	Claim Invariant = "claim"
	// Finished: the pods are not as the spec wants them at the end.
	Finished Invariant = "finished"
	// Silence: somebody wrote although there was nothing to do.
	Silence Invariant = "silence"
	// Batch: a rollout let more pods be on the new version than its turn is.
	Batch Invariant = "batch"
	// Released: a rollout that has ended still holds a workload, or is held itself.
	Released Invariant = "released"
	// Webhook: a webhook was not called, or one call had several keys.
	Webhook Invariant = "webhook"
	// Writes: a pod was written to more often than there can be reasons for.
	Writes Invariant = "writes"
)

// Finding is one broken promise.
type Finding struct {
	Invariant Invariant `json:"invariant"`
	At        time.Time `json:"at"`
	// Version is that of the write; 0 where it is not about one.
	Version uint64 `json:"version,omitempty"`
	Object  string `json:"object"`
	Detail  string `json:"detail"`
}

// String is the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s (version %d, %s)", f.Invariant, f.Object, f.Detail, f.Version, f.At.Format("15:04:05.000"))
}

// Options say what is judged.
type Options struct {
	// Product is the controllers' name in user agents.
	Product   string
	Namespace string
	// Since is when judging begins; what was before only makes the state of the world.
	Since time.Time
	// Lag is how long a controller may not know what others have done.
	Lag time.Duration
	// MostWrites and MostTries bound the accepted, and all, writes to one pod since then; 0 for no bound.
	MostWrites, MostTries int
	// Finished has the end judged too: everything is to be as the newest specs want it.
	Finished bool
}
