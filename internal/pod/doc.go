// SPDX-License-Identifier: Apache-2.0

// Package pod knows what one pod is to a workload controller: whether it
// counts, whether it is ready and available, what it waits for, and which of
// several pods goes first when pods are deleted or updated.
//
// It reads pods and never changes them, and it knows no workload kind. Time
// comes in as an argument.
package pod
