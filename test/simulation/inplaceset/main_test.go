// SPDX-License-Identifier: Apache-2.0

package inplaceset

import (
	"testing"

	"slipway.dev/slipway/test/simulation/world"
)

func TestMain(m *testing.M) { world.Main(m) }
