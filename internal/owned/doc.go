// SPDX-License-Identifier: Apache-2.0

// Package owned reads what an object owns: pods, claims and revisions, found by an index and never by
// listing a namespace, and decoded once for each version of them.
//
// It knows no kind of owner, writes nothing and decides nothing.
package owned
