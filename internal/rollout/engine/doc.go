// SPDX-License-Identifier: Apache-2.0

// Package engine decides how a rollout goes on: a state machine over what is seen of the workloads, the webhooks and the
// metrics. It is the same for every kind of workload and for every kind of object that has a RolloutPlan.
//
// The states and the ways between them are one table (see Edges); what is drawn of them is made from it. All arithmetic of
// batches is in batch.go.
//
// The package is pure: it reads no clock and no cluster, and it writes nothing. It asks for actions, which name numbers and
// never fields of a kind; what they mean for a kind is its adapter's. Each action is asked for until it is seen to have been
// taken, so that a crash at any point loses nothing.
package engine
