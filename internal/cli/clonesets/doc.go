// SPDX-License-Identifier: Apache-2.0

// Package clonesets says what people see of CloneSets: what their fields and conditions mean in a view of package sets.
//
// It is pure. How a view is laid out, and how a set is read and followed, is not known in here.
package clonesets
