// SPDX-License-Identifier: Apache-2.0

// Package apply is the only writer in the program: pods, revisions, status and events.
//
// It executes the steps of a plan and cannot decide anything. Every write is conditional on the version
// of the object that the step was decided on; a conflict means that the plan's view is old and is not an
// error of anybody. Steps fail one by one, and the rest goes on.
package apply
