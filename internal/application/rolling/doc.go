// SPDX-License-Identifier: Apache-2.0

// Package rolling is what an AppRollout adds to the controller of rollouts: it finds the revisions of an application that it
// names, brings their objects to the cluster without moving a pod, and takes away what only the older one had.
//
// What is deployed was rendered when the revision was made, and stands in it. So a rollout depends on no definition of today.
package rolling
