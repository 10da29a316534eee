// SPDX-License-Identifier: Apache-2.0

// Package plan decides, and should not be able to act.
package plan

import (
	_ "k8s.io/api/core/v1"
	_ "sigs.k8s.io/controller-runtime/pkg/client" // want depguard

	_ "slipway.dev/slipway/internal/apply"       // want depguard
	_ "slipway.dev/slipway/internal/statefulset" // want depguard
	_ "slipway.dev/slipway/internal/step"
)
