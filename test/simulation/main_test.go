// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A story makes much garbage and keeps little, so collecting less often makes thousands of them a third faster. Loggers that wait
// to be told where to write are kept for ever, so they are told.
func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
