// SPDX-License-Identifier: Apache-2.0

// Package plane starts a real etcd and kube-apiserver on loopback for integration tests, with the project's CRDs
// installed, and stops them again. Nothing else of a control plane runs: no scheduler, no garbage collector, no nodes; and
// only those controllers that a package has it run.
//
// One plane serves all tests of a package, which keep apart by namespace:
//
//	var cluster *rest.Config
//
//	func TestMain(m *testing.M) {
//		os.Exit(plane.Run(m, func(config *rest.Config) { cluster = config }))
//	}
package plane
