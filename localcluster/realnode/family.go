// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// family collects all processes that end: those that it started, and those that became orphaned, which in a process
// namespace are its first process's. Nothing else in this process may wait for a child.
type family struct {
	mu      sync.Mutex
	waiting map[int]chan<- syscall.WaitStatus
}

func newFamily() *family {
	f := &family{waiting: map[int]chan<- syscall.WaitStatus{}}
	ended := make(chan os.Signal, 1) // one is enough: each look finds all
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			f.collect()
		}
	}()
	return f
}

func (f *family) collect() {
	f.mu.Lock() // a child that ends at once is not taken for an orphan
	defer f.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if pid <= 0 || err != nil {
			return
		}
		if waiting := f.waiting[pid]; waiting != nil {
			waiting <- status
			delete(f.waiting, pid)
		}
	}
}

// start starts a program whose output goes to the log. The channel tells how it ended.
func (f *family) start(cmd *exec.Cmd, log *os.File) (<-chan syscall.WaitStatus, error) {
	cmd.Stdout, cmd.Stderr = log, log // files, so that nobody has to copy
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	ended := make(chan syscall.WaitStatus, 1)
	f.waiting[cmd.Process.Pid] = ended
	return ended, nil
}

// run starts a program and waits for its end. It fails if the program does.
func (f *family) run(cmd *exec.Cmd, log *os.File) error {
	ended, err := f.start(cmd, log)
	if err != nil {
		return err
	}
	if status := <-ended; status != 0 {
		return fmt.Errorf("%s: %s", cmd, tell(status))
	}
	return nil
}

func tell(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "ended by " + status.Signal().String()
	}
	return fmt.Sprintf("ended with code %d", status.ExitStatus())
}
