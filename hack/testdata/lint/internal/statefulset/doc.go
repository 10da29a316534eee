// SPDX-License-Identifier: Apache-2.0

// Package statefulset is another kind.
package statefulset
