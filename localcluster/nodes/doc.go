// SPDX-License-Identifier: Apache-2.0

// Package nodes is the live half of the simulated nodes: one process that stands in for the
// kubelets of all nodes and for the provisioner of volumes.
//
// It reports what package test/node says a kubelet would report, as status patches, and knows
// nothing of its own about pods. It keeps the Node objects and their leases alive, so that the
// real scheduler and the real controllers treat the nodes as real. It is a process of its own with
// a user agent of its own ("slipway-node"), so that a measurement of anything else never counts it.
//
// Two annotations on a Node direct it, and are all that `localcluster node` writes:
//
//	slipway.dev/full   the node reports no room for further pods; those that it has stay
//	slipway.dev/cut    the node falls silent: no lease, no status, no pod changes; the control
//	                   plane notices after some 50 seconds, as it would for a real node
package nodes
