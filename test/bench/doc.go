// SPDX-License-Identifier: Apache-2.0

// Bench measures what a release costs: time, the manager's CPU and memory, and the requests that the API server
// gets for it. It measures and judges nothing, but a scenario that did not do what it says, such as a release in
// place that replaced pods, is an error and no figure.
//
// CafeDeployments are measured many at once, since what they cost is what all their units and groups cost together; so are
// RolloutTraits, since one alone costs next to nothing.
//
// It starts a local cluster of its own (package localcluster), a fresh one for each number of pods and each run, so
// that no scenario pays for the history of an earlier one. Beside Slipway's kinds it measures, on the same plane and
// in the same run, what a plain client reaches and what the built-in Deployment controller does: figures of different
// machines, or of a machine that was busy in between, compare by these.
//
// Who did what comes from the API server's audit log, by user agent; CPU and memory come from /proc. So a manager
// needs no support for being measured, and any other one that serves the same API can be measured the same way.
//
// docs/guide/bench.md tells how to use it.
package main
