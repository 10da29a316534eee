// SPDX-License-Identifier: Apache-2.0

// Package ground is what tests on a local cluster stand on: a root for the cluster apart from the repository, programs
// that are built from the code as it is, and Slipway installed as a user installs it.
package ground
