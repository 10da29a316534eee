// SPDX-License-Identifier: Apache-2.0

// Package forecast shows what a manifest would do to a CloneSet: what changes in the object, and what the controller
// then does, pod by pod. It reads manifests, merges them into live objects as kubectl does, and lays the story of
// internal/cloneset/project out for people and programs. It asks no cluster for anything.
package forecast
