// SPDX-License-Identifier: Apache-2.0

// Package statefulsets says what people see of StatefulSets: what their fields, ordinals, claims and conditions mean in a
// view of package sets.
//
// It is pure. How a view is laid out, and how a set is read and followed, is not known in here.
package statefulsets
