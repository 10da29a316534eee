// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// machine is what the real nodes of several clusters share: what a kubelet changes for all, as it was before the first
// of them. The last to leave puts it back; before, others may still need it.
type machine struct {
	// folder has the note and a file for each node. It is gone after a restart of the machine, as the changes are.
	folder string
	// settings are files of the kernel, and places folders that have to exist for something to be mounted there.
	settings, places []string
}

// thisMachine lists the kernel settings that a kubelet changes at its start, and where containerd, plugins and the
// kubelet keep things whatever one configures.
var thisMachine = machine{
	folder: "/run/slipway-real-nodes",
	settings: []string{
		"/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom", "/proc/sys/kernel/panic", "/proc/sys/kernel/panic_on_oops",
		"/proc/sys/kernel/keys/root_maxkeys", "/proc/sys/kernel/keys/root_maxbytes",
	},
	places: []string{"/run/containerd", "/run/netns", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers"},
}

// before is the note.
type before struct {
	Settings map[string]string `json:"settings"`
	// Made are the folders that were not there.
	Made []string `json:"made"`
}

func (m machine) note() string               { return filepath.Join(m.folder, "before.json") }
func (m machine) nodes() string              { return filepath.Join(m.folder, "nodes") }
func (m machine) nodeFile(s Settings) string { return filepath.Join(m.nodes(), s.mark()) }

// join counts the node in and makes the places.
func (m machine) join(s Settings) error {
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.MkdirAll(m.nodes(), 0o700); err != nil {
		return fmt.Errorf("making %s: %w", m.nodes(), err)
	}
	if _, err := os.Stat(m.note()); errors.Is(err, fs.ErrNotExist) {
		if err := m.writeNote(); err != nil {
			return err
		}
	}
	if err := os.WriteFile(m.nodeFile(s), []byte(s.Dir), 0o600); err != nil {
		return fmt.Errorf("counting the node in: %w", err)
	}
	for _, place := range m.places {
		if err := os.MkdirAll(place, 0o755); err != nil {
			return fmt.Errorf("making a folder to mount on: %w", err)
		}
	}
	return nil
}

func (m machine) writeNote() error {
	now := before{Settings: map[string]string{}}
	for _, path := range m.settings {
		value, err := os.ReadFile(path)
		if err != nil {
			continue // this kernel does not have it, so nothing will change it
		}
		now.Settings[path] = string(value)
	}
	for _, place := range m.places {
		for at := place; !exists(at); at = filepath.Dir(at) {
			now.Made = append(now.Made, at)
		}
	}
	content, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the machine's settings: %w", err)
	}
	if err := os.WriteFile(m.note(), content, 0o600); err != nil {
		return fmt.Errorf("noting the machine's settings: %w", err)
	}
	return nil
}

// leave counts the node out, and puts back what was noted if it is the last. It is no error if it was not counted in.
func (m machine) leave(s Settings) error {
	if !exists(m.nodeFile(s)) {
		return nil
	}
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(m.nodeFile(s)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("counting the node out: %w", err)
	}
	others, err := m.others()
	if err != nil || others > 0 {
		return err
	}
	return m.putBack()
}

// others counts the nodes whose folder is there. One whose folder somebody removed cannot leave any more.
func (m machine) others() (int, error) {
	entries, err := os.ReadDir(m.nodes())
	if err != nil {
		return 0, fmt.Errorf("looking for other real nodes: %w", err)
	}
	n := 0
	for _, entry := range entries {
		dir, err := os.ReadFile(filepath.Join(m.nodes(), entry.Name()))
		if err != nil {
			return 0, fmt.Errorf("looking for other real nodes: %w", err)
		}
		if exists(string(dir)) {
			n++
		}
	}
	return n, nil
}

func (m machine) putBack() error {
	content, err := os.ReadFile(m.note())
	if err != nil {
		return fmt.Errorf("reading how the machine was before: %w", err)
	}
	var then before
	if err := json.Unmarshal(content, &then); err != nil {
		return fmt.Errorf("%s is damaged: put the machine's settings back yourself and remove it: %w", m.note(), err)
	}
	var errs []error
	for path, value := range then.Settings {
		if now, err := os.ReadFile(path); err == nil && string(now) == value {
			continue
		}
		errs = append(errs, os.WriteFile(path, []byte(value), 0))
	}
	// Longest first: a folder made in a folder made.
	slices.SortFunc(then.Made, func(a, b string) int { return len(b) - len(a) })
	for _, folder := range then.Made {
		// What somebody else put something into meanwhile stays.
		if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("putting back what the node changed: %w", err)
	}
	if err := os.RemoveAll(m.folder); err != nil {
		return fmt.Errorf("removing the note: %w", err)
	}
	return nil
}

// lock keeps the nodes of two clusters apart. Its file stays: one that is removed could be locked twice.
func (m machine) lock() (func(), error) {
	file, err := os.OpenFile(m.folder+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the real nodes: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for another real node: %w", err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing gives the lock back
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
