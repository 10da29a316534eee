// SPDX-License-Identifier: Apache-2.0

// Package rollout is the controller of objects that have a RolloutPlan, RolloutTraits above all: it takes workloads of any kind to a new version, or to a new size, in
// batches.
//
// What to do is decided in engine, which knows states, batches and numbers. What that means for a kind of workload is known by
// its adapter. Webhooks and metrics are errands that run beside the reconciles.
//
// Workloads are read live and never from a cache: a rollout looks at few of them and seldom, and must not decide on an old view
// of something that others write to as well. The watch of workloads only says when to look again. It sees no more of them than
// their metadata, and only of those that a rollout holds.
package rollout
