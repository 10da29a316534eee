// SPDX-License-Identifier: Apache-2.0

// Package worker renders what it is given, and knows too much.
package worker

import (
	_ "context"
	_ "os"
	"time"

	_ "sigs.k8s.io/controller-runtime/pkg/client" // want depguard

	_ "slipway.dev/slipway/internal/application/render"
	_ "slipway.dev/slipway/internal/step" // want depguard
)

// Now asks the clock.
func Now() time.Time { return time.Now() } // want forbidigo
