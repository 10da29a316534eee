// SPDX-License-Identifier: Apache-2.0

// Package applications shows Applications: their components, what is deployed of them, the rollout that is under way, and their
// revisions. It reads objects and asks no cluster for more.
package applications
