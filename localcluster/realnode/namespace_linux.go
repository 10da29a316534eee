// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Isolation is how the node's first process has to be started: when it ends, the kernel ends all that it started, and
// what was mounted goes with the last of them.
func Isolation() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
}

// arrange makes the namespace's own view of the machine.
func arrange(s Settings) error {
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		// Nothing that is mounted here shows outside, but inside all see the same: a volume of the kubelet's is a container's.
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE},
		{"", "/", "", syscall.MS_REC | syscall.MS_SHARED},
		{"proc", "/proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC},
	} {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", m.target, err)
		}
	}
	for _, place := range thisMachine.places {
		if err := syscall.Mount(s.place(place), place, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting the node's %s: %w", place, err)
		}
	}
	return nil
}

// mayRaiseLimits tells whether this process may lower what protects a process from being killed for memory. Where it
// may not, containerd has to be told, or no container starts.
func mayRaiseLimits() bool {
	const resourceCapability = 24
	content, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(content)) {
		if value, found := strings.CutPrefix(line, "CapEff:"); found {
			set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return err == nil && set&(1<<resourceCapability) != 0
		}
	}
	return false
}
