// SPDX-License-Identifier: Apache-2.0

// Package metric asks a real Prometheus about a workload whose rate of errors the test sets, in the way in which a rollout asks.
package metric
