// SPDX-License-Identifier: Apache-2.0

// Package inplace knows updates that keep the pod: whether the difference between two templates can
// reach a living pod, the change that brings it there, what is stored on the pod meanwhile, and how to
// tell from what the node reports that the pod really runs the new version.
//
// Everything here is pure. A crash of the manager between any two writes is recovered from what stands
// on the pod: its labels, its gate, and the two annotations of this package.
package inplace
