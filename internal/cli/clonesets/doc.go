// SPDX-License-Identifier: Apache-2.0

// Package clonesets shows CloneSets to people: one set with its revisions and pods as a tree, many
// as a table, and what changed between two looks as lines.
//
// NewView and everything made from a View is pure; Watch is the part that reads from a cluster.
package clonesets
