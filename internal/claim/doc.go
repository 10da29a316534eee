// SPDX-License-Identifier: Apache-2.0

// Package claim knows what the volume claims of a set's pods are made from: the volumes that claim templates give a
// pod, the claim that a template gives, and how far a claim that exists agrees with its template.
//
// It knows no kind of set: how the claim of a template is called for one pod is its callers' to say.
package claim
