// SPDX-License-Identifier: Apache-2.0

// Package story is what projections share, and should know no kind.
package story

import (
	_ "context" // want depguard

	_ "slipway.dev/slipway/internal/cloneset/plan" // want depguard
)
