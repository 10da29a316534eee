// SPDX-License-Identifier: Apache-2.0

// Package rollout tells stories of RolloutTraits: the real controller drives simulated workloads of each kind. Kinds of our own run with
// their real controllers, those of Kubernetes with the small models of package kube. Webhooks and metrics are answered by the story.
//
// A golden transcript for each kind and operation tells every way that a rollout can go, one under the other. A judge compares each
// write with what the plan allows at that moment, and at the end a checker looks at every object there is. Random stories, with
// managers that crash and writes that fail, have the same judge.
package rollout
