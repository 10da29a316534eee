// SPDX-License-Identifier: Apache-2.0

// Package hook talks to other systems, and knows too much.
package hook

import (
	_ "context"
	_ "net/http"
	"time"

	_ "sigs.k8s.io/controller-runtime/pkg/client"

	_ "slipway.dev/slipway/internal/apply" // want depguard
	_ "slipway.dev/slipway/internal/rollout/errand"
	_ "slipway.dev/slipway/internal/rollout/measure"
	_ "slipway.dev/slipway/internal/statefulset" // want depguard
	_ "slipway.dev/slipway/internal/step"        // want depguard
)

// Again sleeps between two calls.
func Again() { time.Sleep(time.Second) } // want forbidigo
