// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingIsLeftOfANodeThatWasKilled has a program that ignores everything stand in for the node's first process.
func TestNothingIsLeftOfANodeThatWasKilled(t *testing.T) {
	if missing := Missing(); len(missing) > 0 {
		t.Skip("this machine can have no real node: " + strings.Join(missing, "; "))
	}
	settings := anySettings(filepath.Join(t.TempDir(), "node"))
	network, err := ChooseNetwork(settings.Dir, NetworkFree)
	must(t, err)
	settings.Network = network
	t.Cleanup(func() { must(t, Clean(settings)) })
	must(t, Prepare(settings))
	must(t, makeGroups(settings))
	first := exec.Command("sleep", "1000")
	first.SysProcAttr = Isolation()
	must(t, first.Start())
	groups := groupsOf(t, settings)
	if len(groups) == 0 {
		t.Error("the node has no control group")
	}
	for _, group := range groups {
		set(t, filepath.Join(group, "cgroup.procs"), fmt.Sprint(first.Process.Pid))
	}
	if _, err := net.InterfaceByName(settings.mark()); err != nil {
		t.Errorf("the node has no bridge: %v", err)
	}

	must(t, first.Process.Kill())
	if err := first.Wait(); err == nil {
		t.Error("the first process ended well, so it was not killed")
	}
	must(t, Clean(settings))

	if left := groupsOf(t, settings); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
	if _, err := net.InterfaceByName(settings.mark()); err == nil {
		t.Errorf("the bridge %s is left", settings.mark())
	}
	for _, path := range []string{settings.Dir, thisMachine.nodeFile(settings)} {
		if exists(path) {
			t.Errorf("%s is left", path)
		}
	}
	if err := Clean(settings); err != nil {
		t.Errorf("cleaning a second time: %v", err)
	}
}

// groupsOf are the node's groups that exist.
func groupsOf(t *testing.T, s Settings) []string {
	t.Helper()
	trees, err := hierarchies()
	must(t, err)
	var groups []string
	for _, tree := range trees {
		if group := filepath.Join(tree.mount, s.mark()); exists(group) {
			groups = append(groups, group)
		}
	}
	return groups
}

func TestEveryChildIsCollectedAndItsEndTold(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	defer log.Close()
	// In a process of its own, for nothing else there may wait for a child.
	if os.Getenv("SLIPWAY_FAMILY") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), "SLIPWAY_FAMILY=yes")
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return
	}
	f := newFamily()
	if err := f.run(exec.Command("true"), log); err != nil {
		t.Errorf("a program that ends well: %v", err)
	}
	if err := f.run(exec.Command("sh", "-c", "exit 3"), log); err == nil || !strings.Contains(err.Error(), "ended with code 3") {
		t.Errorf("got %v, want the code", err)
	}
	if err := f.run(exec.Command("sh", "-c", "kill -9 $$"), log); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v, want the signal", err)
	}
}
