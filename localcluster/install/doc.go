// SPDX-License-Identifier: Apache-2.0

// Package install reads the manifests that are shipped with Slipway and brings them to a cluster, for programs that run the manager
// as a process of this machine: the demo, and what measures and tests.
//
// Which part of a manifest is wanted is for the caller to say. It takes nothing away from a cluster.
package install
