// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the contract of apps.cafe.cloud.alipay.com/v1alpha1: the Go types of InPlaceSet and CafeDeployment,
// and the keys by which the controllers, their users and the components that route traffic understand each other.
//
// Defaults and validation are markers on these types, from which hack/generate.sh makes the CRDs, so that no admission
// webhook is needed. What markers cannot say about types that are not ours stands in hack/crd, as pieces of schema. A
// value read from the API may still lack its default: every optional field documents what its absence means.
//
// The package knows nothing about clusters: it imports Kubernetes' own API types and nothing else.
//
// +kubebuilder:object:generate=true
// +groupName=apps.cafe.cloud.alipay.com
package v1alpha1
