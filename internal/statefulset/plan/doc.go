// SPDX-License-Identifier: Apache-2.0

// Package plan decides what to do next for a StatefulSet.
//
// Next is a pure function of the world that was observed and of the time: the same world and time give the same plan.
// It never sees a client, a logger or a clock, so the controller, `slipway plan`, the transcripts and the simulation
// all run this same code.
//
// Pods have ordinals. The live ordinals are the first ones from the start on that are not reserved, as many as there
// are replicas; a position is an index among them. A pod of any other ordinal is condemned. One plan is one pass, and
// every pod gets at most one step in it; the next pass begins when the cache shows what this one did.
//
// The partition keeps the lowest positions; or, where pods are updated in any order, as many pods as it says, whichever they
// are: none is taken for its update unless as many others are there and stay on older revisions.
package plan
