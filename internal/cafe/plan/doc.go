// SPDX-License-Identifier: Apache-2.0

// Package plan decides how many pods each unit of a CafeDeployment has, and how many of them on which version.
//
// It is pure: Next gives the same plan for the same world and time. It speaks of units and numbers and never of pods;
// which pods make up a number is the affair of the pod sets.
//
// What has to outlast a pass stands in the status (groups, the current one, what was moved) and in two annotations
// (confirmations). Such a decision is written first and acted on in a later pass, which reads it back. So a crash at any
// point either has not decided yet, or has it in writing.
package plan
