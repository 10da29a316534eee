// SPDX-License-Identifier: Apache-2.0

// Package kruise is where the versions of the API group apps.kruise.io live. It holds no code; its tests prove that the types
// of all versions read and write what the published Go types of this group do.
package kruise
