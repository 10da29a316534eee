// SPDX-License-Identifier: Apache-2.0

// Package sets shows sets of pods to people, whatever kind they are: one set with its revisions and pods as a tree, many
// as a table, and what changed between two looks as lines.
//
// A kind says by a Kind how its objects become a View. Everything that is made from a View is pure; Watch and the other
// methods of Kind are the part that reads from a cluster. What a field of a kind means must not be known in here.
package sets
