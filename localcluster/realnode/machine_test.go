// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"os"
	"path/filepath"
	"testing"
)

// world is a machine in a folder of the test, with a setting and a place that does not exist, and two nodes.
func world(t *testing.T) (m machine, one, other Settings) {
	t.Helper()
	root := t.TempDir()
	m = machine{
		folder:   filepath.Join(root, "run"),
		settings: []string{filepath.Join(root, "setting"), filepath.Join(root, "unknown")},
		places:   []string{filepath.Join(root, "made", "place")},
	}
	one, other = Settings{Dir: filepath.Join(root, "one")}, Settings{Dir: filepath.Join(root, "other")}
	for _, s := range []Settings{one, other} {
		if err := os.Mkdir(s.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	set(t, m.settings[0], "before")
	return m, one, other
}

func set(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expect tells whether the machine is as it was.
func expect(t *testing.T, when string, m machine, asBefore bool) {
	t.Helper()
	want := "changed"
	if asBefore {
		want = "before"
	}
	if got, err := os.ReadFile(m.settings[0]); err != nil || string(got) != want {
		t.Errorf("%s: the setting is %q, %v; want %q", when, got, err, want)
	}
	if exists(m.places[0]) == asBefore {
		t.Errorf("%s: the folder that was made exists: %t", when, !asBefore)
	}
	if exists(m.folder) == asBefore {
		t.Errorf("%s: the note exists: %t", when, !asBefore)
	}
}

func TestTheLastNodeThatLeavesPutsBackWhatTheFirstFound(t *testing.T) {
	m, one, other := world(t)
	must(t, m.join(one))
	set(t, m.settings[0], "changed") // as its kubelet does
	must(t, m.join(other))
	must(t, m.leave(one))
	expect(t, "while another node runs", m, false)
	must(t, m.leave(other))
	expect(t, "after the last", m, true)
	if exists(filepath.Dir(m.places[0])) {
		t.Error("a folder above the place was made and is left")
	}
}

func TestANodeThatCrashedAndJoinsAgainDoesNotHideWhatWasBefore(t *testing.T) {
	m, one, _ := world(t)
	must(t, m.join(one))
	set(t, m.settings[0], "changed")
	must(t, m.join(one))
	must(t, m.leave(one))
	expect(t, "after it left", m, true)
}

func TestANodeWhoseFolderIsGoneHoldsNobodyUp(t *testing.T) {
	m, one, other := world(t)
	must(t, m.join(one))
	must(t, m.join(other))
	set(t, m.settings[0], "changed")
	must(t, os.RemoveAll(other.Dir))
	must(t, m.leave(one))
	expect(t, "after the only one that can leave", m, true)
}

func TestANodeThatNeverJoinedChangesNothing(t *testing.T) {
	m, one, other := world(t)
	must(t, m.join(one))
	set(t, m.settings[0], "changed")
	must(t, m.leave(other))
	expect(t, "after a stranger left", m, false)
}

func TestAFolderThatSomebodyElseUsesMeanwhileStays(t *testing.T) {
	m, one, _ := world(t)
	must(t, m.join(one))
	set(t, filepath.Join(m.places[0], "somebody's"), "")
	must(t, m.leave(one))
	if !exists(filepath.Join(m.places[0], "somebody's")) {
		t.Error("what somebody else put there is gone")
	}
	if exists(m.folder) {
		t.Error("the note is left")
	}
}
