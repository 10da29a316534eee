// SPDX-License-Identifier: Apache-2.0

// Package apply is the hands: it may write, and may not know why.
package apply

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	_ "slipway.dev/slipway/internal/statefulset" // want depguard
	_ "slipway.dev/slipway/internal/step"
)

// Now is not the clock that was passed in.
func Now() time.Time {
	return time.Now() // want forbidigo
}

// Create is what only this package may do.
func Create(ctx context.Context, c client.Client, pod *corev1.Pod) error {
	return c.Create(ctx, pod)
}
