// SPDX-License-Identifier: Apache-2.0

// Package revision is a pure room that is not pure.
package revision

import (
	_ "context" // want depguard
	_ "crypto/sha256"

	_ "sigs.k8s.io/controller-runtime/pkg/client" // want depguard

	_ "slipway.dev/slipway/internal/apply" // want depguard
	_ "slipway.dev/slipway/internal/step"
)
