// SPDX-License-Identifier: Apache-2.0

// Package lifecycle knows the hooks by which other controllers hold a pod back before it is deleted, before
// and after it is updated in place, and before it counts as available: when a hook blocks, what is written
// when a pod changes its state, and the condition by which a pod is taken out of service meanwhile.
//
// It knows no workload kind and decides nothing: which pod changes its state is the planner's work.
package lifecycle
