// SPDX-License-Identifier: Apache-2.0

// Package render renders, and reads more than it is given.
package render

import (
	_ "encoding/json"
	_ "os" // want depguard

	_ "sigs.k8s.io/controller-runtime/pkg/client" // want depguard

	_ "slipway.dev/slipway/internal/apply" // want depguard
)
