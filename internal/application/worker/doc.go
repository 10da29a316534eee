// SPDX-License-Identifier: Apache-2.0

// Package worker renders components in processes of their own, which can be killed: CUE can be written that takes for ever or
// fills the memory, and an evaluation in Go cannot be stopped from outside.
//
// The processes are the same program, started with one argument (Argument). They get requests on standard input and answer on
// standard output, have no environment, and watch their own use of the processor and of memory. The package knows what to render
// and how long it may take, and nothing of applications or clusters.
package worker
