// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 is the contract of apps.kruise.io/v1beta1: the Go types of StatefulSet, and the keys that only its pods and
// claims carry. What it shares with CloneSet (hooks, priorities, the marks of in-place updates) stands in package v1alpha1.
//
// Defaults and validation are markers on these types, and pieces of schema in hack/crd, from which hack/generate.sh makes
// the CRD, so that no admission webhook is needed. A value read from the API may still lack its default (objects that
// are older than the default, or a client that reads from elsewhere): every optional field documents what its absence means.
//
// The package knows nothing about clusters: it imports Kubernetes' own API types and nothing else.
//
// +kubebuilder:object:generate=true
// +groupName=apps.kruise.io
package v1beta1
