// SPDX-License-Identifier: Apache-2.0

// Package prometheus runs a real Prometheus server on the loopback device, for tests, and a workload that it scrapes, whose rate of
// errors the test sets.
package prometheus
