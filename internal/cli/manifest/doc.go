// SPDX-License-Identifier: Apache-2.0

// Package manifest reads manifests as people write them: several documents in a file, lists among them, YAML or JSON. It knows no
// kind, and asks no cluster.
package manifest
