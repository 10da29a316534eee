// SPDX-License-Identifier: Apache-2.0

// Package delivery knows what becomes of a rendered object on its way to the cluster: whose it is, what it is called, and which
// of its pods it selects. It is pure. What holds back pods is known by the adapter of the workload's kind.
package delivery
