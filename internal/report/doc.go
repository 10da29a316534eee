// SPDX-License-Identifier: Apache-2.0

// Package report holds what the kinds share when they tell how things are: how a condition changes, how much
// of a long list people are shown, which failures are somebody's trouble, and when to look again.
//
// It knows no kind and no plan, and writes nothing but events.
package report
