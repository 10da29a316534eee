// SPDX-License-Identifier: Apache-2.0

// Package e2e releases real sets of all kinds on the local cluster and judges them by the API server's audit log.
//
// Everything runs as it does for a user: the control plane of package localcluster with simulated nodes,
// CRDs and roles from config/install.yaml, and slipway-manager as a process of its own that has no
// more rights than the manifest gives it. The programs are built by the suite, so a stale binary is never
// tested. The suite takes nothing from whom it judges: how many pods were unavailable, who wrote to them and
// how often stands in the audit log.
//
// The cluster has a root of its own in the system's folder for temporary files, so a cluster that the user
// has up in the repository is not disturbed. It needs the binaries of `make k8s`. When a spec fails, its
// sets, pods and events and the end of the manager's log are printed, and logs and data are left
// behind in a folder that is named at the end.
package e2e
