// SPDX-License-Identifier: Apache-2.0

// Package inplaceset runs the InPlaceSet controller against a real API server that has no nodes: what pods report, and what
// the components do that route traffic, the tests write. Here is what only a real server can show: stored objects without
// defaults, how finalizers and deletions go together, and patches of pods.
package inplaceset
