// SPDX-License-Identifier: Apache-2.0

// Package budget knows how many pods may be created, deleted and updated in
// one pass over a workload: it turns replicas, partition, surge and
// unavailable into quantities, and quantities into allowances that are spent
// pod by pod.
//
// It is arithmetic only: integers go in, integers come out. It does not know
// which pod is which, and it must not: choosing pods is the planner's work.
package budget
