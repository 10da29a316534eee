// SPDX-License-Identifier: Apache-2.0

// Package cafes shows CafeDeployments to people: units as columns, groups as rows, and each pod as a cell.
//
// It goes by the status of the deployment and of its pod sets, whatever kind they are, and by the pods. What is made from a
// Snapshot is pure; Kind is the part that reads from a cluster. How a release is planned is not known in here.
package cafes
