// SPDX-License-Identifier: Apache-2.0

// Package project tells what a CloneSet would do, before it does it.
//
// Of runs the controller's own planner again and again over a copy of a world. Between two plans it does what an API
// server and healthy nodes would do: created pods become ready, updates in place complete, deletions finish, and time
// passes. What it returns is a story: who is touched when, how and why, and how many pods are available at each moment.
//
// It is pure, as the planner is: no client, no clock, and the same world tells the same story. It decides nothing of
// its own, so a change of the planner is a change of the story.
package project
