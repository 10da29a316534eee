// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"io"
	"os"
	"syscall"
	"testing"
)

func TestDownStopsCompanions(t *testing.T) {
	root := t.TempDir()
	first, err := StartCompanion(root, "manager", "/bin/sh", "-c", "sleep 1000")
	if err != nil {
		t.Fatal(err)
	}
	one, err := CompanionPID(root, "manager")
	if err != nil || one == 0 {
		t.Fatalf("pid %d, error %v after the start", one, err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-one, syscall.SIGKILL) })

	second, err := StartCompanion(root, "manager", "/bin/sh", "-c", "echo hello; exec sleep 1000")
	if err != nil {
		t.Fatal(err)
	}
	<-first // a second start ends the first
	two, err := CompanionPID(root, "manager")
	if err != nil || two == 0 || two == one {
		t.Fatalf("pid %d, error %v after the second start, %d before", two, err, one)
	}
	t.Cleanup(func() { _ = syscall.Kill(-two, syscall.SIGKILL) })
	if _, err := os.Stat(CompanionLog(root, "manager")); err != nil {
		t.Error(err)
	}

	if err := Down(root, true, io.Discard); err != nil {
		t.Fatal(err)
	}
	<-second
	if pid, err := CompanionPID(root, "manager"); err != nil || pid != 0 {
		t.Errorf("pid %d, error %v after Down", pid, err)
	}
}

func TestACompanionCannotTakeTheNameOfAComponent(t *testing.T) {
	for _, name := range componentNames() {
		if _, err := StartCompanion(t.TempDir(), name, "/bin/true"); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
