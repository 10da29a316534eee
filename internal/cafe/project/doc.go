// SPDX-License-Identifier: Apache-2.0

// Package project tells what a CafeDeployment would do, before it does it: what its own planner asks of the pod sets of
// its units, group by group, and where it waits for a person.
//
// It speaks of units and numbers, as the planner does. Pod sets do what they are asked for; which pods that are, and how a
// set goes about it, is their own affair. It is pure, and decides nothing of its own.
package project
