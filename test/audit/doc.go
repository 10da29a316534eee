// SPDX-License-Identifier: Apache-2.0

// Package audit judges a release by what the API server wrote down about it.
//
// It reads the API server's audit log (JSON lines, level RequestResponse for
// writes of pods), puts every state that a pod ever had back in order, and answers:
// how many pods of an owner were unavailable at most, which pods kept their UID and IP,
// and who wrote to each pod how often. A Follower sees what the log does not tell: the effect of writes that were cut off.
//
// It knows nothing of Slipway's own code, on purpose: what is judged must not be
// asked whether it did well. In particular "available" is decided here again.
package audit
