// SPDX-License-Identifier: Apache-2.0

// Package measure knows what is asked of a metric, and what the answers mean for a batch: how a query is filled in, when the
// next sample is due, which numbers are good, and how many of them it takes. It is pure: it asks nobody, and time is an
// argument.
package measure
