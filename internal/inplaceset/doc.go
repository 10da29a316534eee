// SPDX-License-Identifier: Apache-2.0

// Package inplaceset is the controller of InPlaceSets.
//
// Each reconcile observes one set, lets package plan decide, has package apply take the steps, and reports: one status
// patch, then events. Nothing in here decides what happens to a pod, and nothing in here writes by itself.
package inplaceset
