// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"os"
	"runtime/debug"
	"testing"
)

// A story makes much garbage and keeps little, so collecting less often makes thousands of them a third faster.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
