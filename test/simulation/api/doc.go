// SPDX-License-Identifier: Apache-2.0

// Package api is a Kubernetes API server in memory, as far as Slipway depends on one: resource versions, preconditions,
// subresources, graceful deletion, the rules about what may change in a pod, who owns which field of what is applied, and a log of every
// write with its author.
//
// It decides nothing about timing: who sees a write, and when, is the business of Cache, a client-side store that is
// told the writes one by one by whoever runs the simulation.
//
// Stored objects are never changed in place: each write stores a new object. The log, the caches and the readers in this
// process share them, so nobody may write to an object that came from here without copying it first.
package api
