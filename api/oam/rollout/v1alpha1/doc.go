// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the contract of standard.oam.dev/v1alpha1: RolloutTrait, which takes a workload to a new version or
// to a new size in batches, and MetricTemplate, which says how a batch is measured. The RolloutPlan and the status of a
// rollout stand here for every kind that has one.
//
// Defaults and validation are markers on these types, from which hack/generate.sh makes the CRDs, so that no admission
// webhook is needed. A value read from the API may still lack its default: every optional field documents what its
// absence means.
//
// The package knows nothing about clusters: it imports Kubernetes' own API types and nothing else.
//
// +kubebuilder:object:generate=true
// +groupName=standard.oam.dev
package v1alpha1
