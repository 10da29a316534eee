// SPDX-License-Identifier: Apache-2.0

// Package forecast shows what a manifest would do to a workload: what changes in the object, and what its controller
// then does, pod by pod. It reads manifests, merges them into live objects as kubectl does, and lays the story that the
// kind tells (internal/story) out for people and programs. It asks no cluster for anything.
package forecast
