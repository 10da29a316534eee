// SPDX-License-Identifier: Apache-2.0

// Package cloneset runs the CloneSet controller against a real API server that has no nodes: what pods
// report, the tests write. Here is what only a real server can show: stored objects without defaults,
// names that others have, quotas, and revisions that other publishers wrote.
package cloneset
