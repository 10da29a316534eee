// SPDX-License-Identifier: Apache-2.0

// Package tree turns a document (a head, some facts, and a tree whose leaves are
// rows of one table) into lines of text for a terminal or a file.
//
// It is pure: the same document and options give the same lines. It knows nothing of
// Kubernetes and must not: a view of some kind says what is shown, this package how.
package tree
