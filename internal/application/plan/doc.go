// SPDX-License-Identifier: Apache-2.0

// Package plan decides what is deployed of an application next: which objects are applied, what is rolled out in batches and from
// where, and what is taken away. It is pure: it sees a world that was read, and returns steps with their reasons.
package plan
