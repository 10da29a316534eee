// SPDX-License-Identifier: Apache-2.0

// Package builders makes CloneSets and pods for tests and the simulation, in
// one readable line each. What a test does not name has a sound value: a set
// is valid, a pod is available since Epoch.
//
// A builder is changed by its methods and may be used once; Build hands out
// the object itself.
package builders
