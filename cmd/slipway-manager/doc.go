// SPDX-License-Identifier: Apache-2.0

// Slipway-manager runs Slipway's controllers against one cluster.
//
// Two or more replicas may run: one leads, the others keep warm caches and take over when its lease ends.
// It wires things together and decides nothing; what a controller does stands in its own package.
package main

// The leader is chosen by a lease in the manager's own namespace. A lease cannot be created by name, so that one verb
// stands alone. The events of the election are of the older events API.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=slipway-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=slipway-system,resources=leases,resourceNames=slipway-manager,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=slipway-system,resources=events,verbs=create

// Every controller tells about its objects, in their namespaces.
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
