// SPDX-License-Identifier: Apache-2.0

// Package cafe plays the stories of CafeDeployments in package world: one manager with the controllers of CafeDeployments, InPlaceSets,
// CloneSets and Advanced StatefulSets, models of the built-in controllers of ReplicaSets and StatefulSets, cells with limited room, and
// people who confirm late, twice or not at all, and change everything in the middle.
//
// The judge reads the API's history. It knows the contract of CafeDeployments in its own words, and uses nothing of the code that it
// judges.
package cafe
