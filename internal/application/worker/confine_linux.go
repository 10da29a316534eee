// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"os"
	"syscall"
)

// confine gives the process limits that the kernel holds. Should memory get short all the same, the kernel takes it before others.
func confine() error {
	// All private memory that can be written. Address space (RLIMIT_AS) is no measure of what a Go program uses.
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: hardMemory, Max: hardMemory}); err != nil {
		return fmt.Errorf("limiting memory: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("limiting core dumps: %w", err)
	}
	// Not everywhere is /proc; it only decides who goes first.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	return nil
}
