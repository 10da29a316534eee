// SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker

import (
	"syscall"
	"time"
)

// processorTime is how long all threads of the process have been running.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
