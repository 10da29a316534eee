// SPDX-License-Identifier: Apache-2.0

package application

import (
	"testing"

	"slipway.dev/slipway/test/simulation/world"
)

func TestMain(m *testing.M) { world.Main(m) }
