// SPDX-License-Identifier: Apache-2.0

// Package cli holds the commands behind cmd/slipway.
//
// get and plan only read: get, list and watch of the shown kind, of pods and of controllerrevisions are all the permissions
// that they need. What they show is made by the packages of the kinds (clonesets), rendered by tree, kept up to date by feed
// and live. confirm, pause, resume and undo change one object each, by one patch that names the version that the person
// saw, and need patch of it.
//
// The commands below rollout are in rollout*.go: rollouts shows, lint checks manifests, and the engine itself says what a rollout
// would do. What people say to a rollout names the step or the try that they saw, so that what comes late does nothing.
package cli
