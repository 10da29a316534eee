// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the contract of apps.kruise.io/v1alpha1: the Go types of CloneSet, and the label keys,
// annotation keys and pod conditions by which the controller, its users and other tools understand each other.
//
// Defaults and validation are markers on these types, from which hack/generate.sh makes the CRD, so that no
// admission webhook is needed. What markers cannot say about types that are not ours (the pod template, label
// selectors) stands in hack/crd, as pieces of schema. A value read from the API may still lack its default (objects that are older than
// the default, or a client that reads from elsewhere): every optional field documents what its absence means.
//
// The package knows nothing about clusters: it imports Kubernetes' own API types and nothing else.
//
// +kubebuilder:object:generate=true
// +groupName=apps.kruise.io
package v1alpha1
