// SPDX-License-Identifier: Apache-2.0

// Package story tells what the controller of a set would do, before it does it.
//
// Play runs the planner of the set again and again over a copy of a scene. Between two plans it does what an API server
// and healthy nodes would do: created pods become ready, updates in place complete, deletions finish, and time passes.
// What it returns is a story: who is touched when, how and why, and how many pods are available at each moment.
//
// It is pure, as planners are: no client, no clock, and the same scene tells the same story. It decides nothing of its
// own, and knows no kind: how one is planned it is told by a Set.
package story
