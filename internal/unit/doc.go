// SPDX-License-Identifier: Apache-2.0

// Package unit knows deploy units: by which label of a node a unit is known, and how pods are kept inside one.
//
// It knows no workload kind, and looks at no nodes.
package unit
