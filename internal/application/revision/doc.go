// SPDX-License-Identifier: Apache-2.0

// Package revision knows how an application becomes a revision: what of it and of its definitions counts, which number and
// name come next, what a snapshot holds, which component revisions belong to it, and what may be forgotten.
//
// Equality is of meaning, not of bytes: the order of members, the metadata of definitions and the spelling of what a workload
// has by default make no revision. A snapshot holds all that its objects were made from, and the objects: what is deployed
// from it depends on nothing that changes later.
//
// The package is pure: it reads no clock and no cluster, and it renders nothing.
package revision
