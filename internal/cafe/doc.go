// SPDX-License-Identifier: Apache-2.0

// Package cafe is the controller of CafeDeployments.
//
// Each reconcile observes one deployment and the pod sets of its units, lets package plan decide, has package apply take
// the steps, and reports: one status patch, then events. Nothing in here decides how many pods a unit has, and nothing in
// here writes by itself. Pod sets are reached by their API only; their own controllers do the rest.
package cafe
