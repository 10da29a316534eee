// SPDX-License-Identifier: Apache-2.0

// Package ordinal knows the numbers that tell the pods of a stateful set apart: which of them are live, which are
// reserved, and how a name carries one.
//
// A live ordinal has a position, its index among the live ones. Reserved ordinals are held as intervals, so a range
// of a billion costs as much as a single one. The package knows no pods and no kind.
package ordinal
