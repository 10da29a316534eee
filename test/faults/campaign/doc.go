// SPDX-License-Identifier: Apache-2.0

// Package campaign plays every fault with every operation on a local cluster, and has package judge say what was broken.
//
// A fault has one story: sets of each kind are created, released in place, released by recreation, scaled, and rolled out in
// batches, in this order and in namespaces of their own, and the fault strikes in each. Deployments are rolled out only: one
// takes the place of another. The manager is the real program, started again whenever it ends, as a Deployment would; it
// reaches the API server through package proxy.
//
// What strikes when is decided by a seed. What the machine makes of it is not repeatable, so a finding is told with the
// version of the write in the audit log.
package campaign
