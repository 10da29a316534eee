// SPDX-License-Identifier: Apache-2.0

// Package traffic knows how components that route traffic to pods take part in what is done to them: which components a
// workload declares, by which finalizer one says that it routes to a pod, and which pod waits for whom.
//
// It speaks in the hooks of package lifecycle and knows no workload kind. It decides nothing.
package traffic
