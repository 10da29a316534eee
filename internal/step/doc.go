// SPDX-License-Identifier: Apache-2.0

// Package step is the closed set of steps that a plan may contain.
//
// A step is one change of the cluster, decided on an exact version of an object and told with its
// reason. Steps are data: planners make them, package apply executes them, the transcripts and
// `slipway plan` print them. A step knows nothing of clients and cannot decide anything.
package step
