// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"errors"
	"io"
	"os"
	"path/filepath"
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

func TestKillLeavesACompanionNoTimeToEndInOrder(t *testing.T) {
	root := t.TempDir()
	marker := filepath.Join(root, "ended-in-order")
	ended, err := StartCompanion(root, "manager", "/bin/sh", "-c", "trap 'touch "+marker+"; exit' TERM; while :; do sleep 0.05; done")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nobody to kill
		if err := Kill(root, "manager"); err != nil {
			t.Fatal(err)
		}
	}
	<-ended
	if pid, err := CompanionPID(root, "manager"); err != nil || pid != 0 {
		t.Errorf("pid %d, error %v after Kill", pid, err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("it was asked to end")
	}
}

func TestReviveKnowsOnlyComponentsOfACluster(t *testing.T) {
	root := t.TempDir()
	if err := Revive(t.Context(), root, "etcd"); !errors.Is(err, ErrNoCluster) {
		t.Errorf("without a cluster the error is %v", err)
	}
	if err := (&record{}).write(layout{root}); err != nil {
		t.Fatal(err)
	}
	if err := Revive(t.Context(), root, "manager"); err == nil {
		t.Error("a companion was revived")
	}
}
