// SPDX-License-Identifier: Apache-2.0

// Package stage lets tests of one controller play short scenes: its reconciler at an API server in memory, with a cache that is never
// behind, unless a test has it so, and nodes that do at once what they are told. What is written and said can be read in words that are
// the same in every run.
//
// Random stories, and what delays and failures do, are for package world.
package stage
