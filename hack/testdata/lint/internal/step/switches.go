// SPDX-License-Identifier: Apache-2.0

// Package step has a closed set of steps and of states, and forgets one of each.
package step

// Step is one of a closed set.
//
//sumtype:decl
type Step interface{ step() }

// Create makes a pod.
type Create struct{}

// Delete removes one.
type Delete struct{}

func (Create) step() {}
func (Delete) step() {}

// State is one of a closed set.
type State string

// The states.
const (
	Ready State = "Ready"
	Gone  State = "Gone"
)

// Name forgets a step.
func Name(s Step) string {
	switch s.(type) { // want gochecksumtype
	case Create:
		return "create"
	}
	return ""
}

// Sign forgets a state.
func Sign(s State) string {
	switch s { // want exhaustive
	case Ready:
		return "+"
	}
	return ""
}

// Created says on purpose that the rest are alike.
func Created(s Step) bool {
	switch s.(type) {
	case Create:
		return true
	default:
		return false
	}
}
