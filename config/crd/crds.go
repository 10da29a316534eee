// SPDX-License-Identifier: Apache-2.0

// Package crd holds the generated CustomResourceDefinitions.
package crd

import "embed"

// Files are the definitions as YAML, one to a file, and a kustomization.
//
//go:embed *.yaml
var Files embed.FS
