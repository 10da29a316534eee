// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 is the contract of core.oam.dev/v1beta1, the application layer: Application, its snapshots
// (ApplicationRevision), the definitions that an application is made from (ComponentDefinition, TraitDefinition), and
// AppRollout, which takes an application from one of its revisions to another in batches.
//
// Defaults and validation are markers on these types, from which hack/generate.sh makes the CRDs, so that no admission
// webhook is needed. A value read from the API may still lack its default: every optional field documents what its
// absence means.
//
// The package knows nothing about clusters: it imports Kubernetes' own API types and the plan of a rollout, nothing else.
//
// +kubebuilder:object:generate=true
// +groupName=core.oam.dev
package v1beta1
