// SPDX-License-Identifier: Apache-2.0

// Package render makes Kubernetes objects of a component: it fills the CUE template of the component's definition with the
// properties that a user gave, lets the traits add objects and lay patches over the workload, and checks what comes out.
//
// It knows no cluster, no clock and no file, and the same request gives the same bytes. What it cannot do is end: CUE can be
// written that takes for ever or fills the memory, and an evaluation in Go cannot be stopped from outside. Whoever renders
// templates of others does it by package worker, in a process that can be killed; Evaluate and Judge are what runs there.
package render
