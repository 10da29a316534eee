// SPDX-License-Identifier: Apache-2.0

// Package project tells what a StatefulSet would do, before it does it: the story of its own planner over a copy of a world.
//
// It is pure, as the planner is, and decides nothing of its own, so a change of the planner is a change of the story.
package project
