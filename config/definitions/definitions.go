// SPDX-License-Identifier: Apache-2.0

// Package definitions holds the component and trait definitions that Slipway ships, as their authors write them. It only carries the
// files; internal/application/definition reads them, and `make generate` writes config/definitions.yaml from them.
package definitions

import "embed"

// Sources are the files: <name>.cue, and include/ with what several of them share.
//
//go:embed *.cue include/*.cue
var Sources embed.FS
