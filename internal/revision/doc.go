// SPDX-License-Identifier: Apache-2.0

// Package revision knows how a pod template becomes a revision: its bytes, its name, when two templates
// mean the same, which listed revision a live template is, what has to be recorded of it, and which revisions
// may be forgotten.
//
// Equality is of meaning, not of bytes. A field with its default value, a null, another spelling of a
// quantity or another library version make no new revision; so taking over objects that other controllers
// wrote touches no pod. Names are opaque and never decide equality.
//
// The package is pure: it reads no clock and no cluster, and it knows no kind that owns revisions.
package revision
