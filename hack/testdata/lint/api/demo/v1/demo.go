// SPDX-License-Identifier: Apache-2.0

// Package v1 is a contract that reaches too far.
package v1

import (
	_ "context" // the standard library is allowed here

	_ "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1" // want depguard
	_ "k8s.io/apimachinery/pkg/runtime"
	_ "sigs.k8s.io/controller-runtime/pkg/scheme" // want depguard

	_ "slipway.dev/slipway/internal/pod" // want depguard
)
