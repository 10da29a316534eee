// SPDX-License-Identifier: Apache-2.0

// Package kube plays the controllers that Kubernetes brings, in a simulated world: of Deployments, ReplicaSets, StatefulSets and
// DaemonSets, as far as they matter to who drives them. They see the truth, do one thing at a time, and are never killed. They know
// nothing of what the simulation is about.
package kube
