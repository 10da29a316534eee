// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// sleeper starts a program that waits to be stopped.
func sleeper(t *testing.T, files layout, script string) (*process, <-chan struct{}) {
	t.Helper()
	ended, err := start(files, "sleeper", "/bin/sh", []string{"-c", script})
	if err != nil {
		t.Fatal(err)
	}
	p, err := findProcess(files, "sleeper")
	if err != nil || p == nil {
		t.Fatalf("the process is not found: %v, %v", p, err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-p.PID, syscall.SIGKILL) // the whole session, also when the test failed half-way
	})
	return p, ended
}

func TestAStoppedProcessIsGone(t *testing.T) {
	files := layout{t.TempDir()}
	p, ended := sleeper(t, files, "sleep 1000")
	if err := stop(files, "sleeper"); err != nil {
		t.Fatal(err)
	}
	<-ended
	if p.alive() {
		t.Error("it is still there")
	}
	if again, err := findProcess(files, "sleeper"); again != nil || err != nil {
		t.Errorf("it is still on file: %v, %v", again, err)
	}
	if err := stop(files, "sleeper"); err != nil {
		t.Errorf("stopping what is stopped: %v", err)
	}
}

func TestAnotherProgramWithTheSamePIDIsLeftAlone(t *testing.T) {
	files := layout{t.TempDir()}
	p, _ := sleeper(t, files, "sleep 1000")
	if p.Started == "" {
		t.Skip("this system does not tell when a process started")
	}
	content, err := json.Marshal(process{PID: p.PID, Started: "1"})
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, files.pidFile("other"), string(content))
	if err := stop(files, "other"); err != nil {
		t.Fatal(err)
	}
	if !p.alive() {
		t.Error("a process that is not ours was stopped")
	}
}

func TestADamagedPIDFileStopsNothing(t *testing.T) {
	files := layout{t.TempDir()}
	for _, content := range []string{"", "{", `{"pid":0}`, `{"pid":1}`, `{"pid":-1}`} {
		mustWrite(t, files.pidFile("x"), content)
		if err := stop(files, "x"); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q: got %v", content, err)
		}
	}
}

func TestAProcessThatEndsAtItsStartIsReportedWithItsLog(t *testing.T) {
	files := layout{t.TempDir()}
	_, ended := sleeper(t, files, "sleep 0.2; echo the port is taken; exit 1")
	err := wait(context.Background(), files, "sleeper", ended, func(context.Context) error { return io.ErrUnexpectedEOF })
	if err == nil || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("got %v, want the end of the log", err)
	}
}

func TestOneCommandAtATime(t *testing.T) {
	files := layout{t.TempDir()}
	unlock, err := lock(files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(files); err == nil || !strings.Contains(err.Error(), "another localcluster command") {
		t.Errorf("got %v", err)
	}
	unlock()
	if unlock, err = lock(files); err != nil {
		t.Errorf("after the first has ended: %v", err)
	} else {
		unlock()
	}
}

func TestDownRemovesItsOwnFilesOnly(t *testing.T) {
	files := layout{t.TempDir()}
	for _, path := range []string{files.kubeconfig(), files.audit(), files.record(), files.pki("ca.crt"), files.log("etcd"), files.in("mine.txt")} {
		mustWrite(t, path, "x")
	}
	if err := Down(files.root, true, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(files.kubeconfig()); err != nil {
		t.Errorf("with --keep-data: %v", err)
	}
	if err := Down(files.root, false, io.Discard); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(files.state())
	if err != nil || len(entries) != 1 || entries[0].Name() != "mine.txt" {
		t.Errorf("what is left: %v, %v; want mine.txt", entries, err)
	}
	if err := os.Remove(files.in("mine.txt")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds nothing
		if err := Down(files.root, false, io.Discard); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(files.state()); !os.IsNotExist(err) {
			t.Errorf("the directory is still there: %v", err)
		}
	}
}
