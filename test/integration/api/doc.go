// SPDX-License-Identifier: Apache-2.0

// Package api holds the tests of the project's APIs against a real kube-apiserver: what the CRDs refuse and how they
// say so, what they accept, and what they fill in. No controller runs here.
package api
