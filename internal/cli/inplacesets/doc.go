// SPDX-License-Identifier: Apache-2.0

// Package inplacesets says how InPlaceSets look to people: as a view of package sets, with the components that route
// traffic to the pods.
//
// It is pure. How a set is read and followed, is not known in here.
package inplacesets
