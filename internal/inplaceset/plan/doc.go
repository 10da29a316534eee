// SPDX-License-Identifier: Apache-2.0

// Package plan decides what to do next for an InPlaceSet.
//
// Next is a pure function of the world that was observed and of the time: the same world and time give the same plan,
// down to the names of new pods. It never sees a client, a logger or a clock.
//
// One plan is one pass. It stays within the allowances that the world leaves, and the next pass begins when the cache
// shows what this one did.
package plan
