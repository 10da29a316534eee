// SPDX-License-Identifier: Apache-2.0

// Package project tells ahead, and should not be able to act either.
package project

import (
	_ "os" // want depguard

	_ "slipway.dev/slipway/internal/apply" // want depguard
	_ "slipway.dev/slipway/internal/cloneset/plan"
	_ "slipway.dev/slipway/internal/statefulset/plan" // want depguard
)
