// SPDX-License-Identifier: Apache-2.0

// Package errand goes on errands for rollouts: calls to other systems that may take long, hang, or have to be repeated for
// days. A reconcile begins an errand and reads what came of it in a later pass; it never waits for one. After each
// try the owner is looked at again.
//
// Nothing is remembered beyond the life of a manager. The next one begins the same errand under the same key, so an errand is
// carried out at least once.
//
// It knows neither what an errand is about nor what an answer means.
package errand
