// SPDX-License-Identifier: Apache-2.0

// Package statefulset runs the StatefulSet controller against a real API server that has no nodes: what pods
// report, the tests write. Here is what only a real server can show: objects that other publishers have stored,
// objects without defaults, adoption, claims that grow and change hands, and quotas.
package statefulset
