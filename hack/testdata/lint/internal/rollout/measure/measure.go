// SPDX-License-Identifier: Apache-2.0

// Package measure is a pure room of rollouts that asks by itself.
package measure

import (
	_ "net/http" // want depguard
	_ "text/template"

	_ "slipway.dev/slipway/internal/rollout/errand" // want depguard
)
