// SPDX-License-Identifier: Apache-2.0

// Package rollout has rollouts reach workloads of each kind on a real API server. No controller of a workload runs: the
// tests write what one would.
package rollout
