// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package realnode

import (
	"errors"
	"syscall"
)

// Isolation is of no use but on Linux.
func Isolation() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func arrange(Settings) error { return errors.New("a real node needs Linux") }

func mayRaiseLimits() bool { return false }
