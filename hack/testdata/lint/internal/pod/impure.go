// SPDX-License-Identifier: Apache-2.0

// Package pod is a pure room that is not pure.
package pod

import (
	_ "context"      // want depguard
	_ "math/rand/v2" // want depguard
	_ "os/exec"      // want depguard
	_ "strings"
	"time"

	_ "github.com/go-logr/logr" // want depguard
	_ "k8s.io/api/core/v1"
	_ "k8s.io/client-go/kubernetes" // want depguard
	_ "k8s.io/utils/clock"          // want depguard
	_ "k8s.io/utils/ptr"

	_ "slipway.dev/slipway/internal/apply" // want depguard
	_ "slipway.dev/slipway/internal/step"
)

// Seen is when the pod was looked at.
var Seen = time.Now() // want forbidigo
