// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// emptyWithin is how long processes that were killed may take to leave their groups.
const emptyWithin = 20 * time.Second

// hierarchy is one mounted tree of control groups.
type hierarchy struct {
	mount string
	// unified is version 2.
	unified bool
}

// hierarchies lists the mounted trees. A machine with version 1 has one for each controller, and may have an empty one
// of version 2 beside.
func hierarchies() ([]hierarchy, error) {
	file, err := os.Open("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("looking for control groups: %w", err)
	}
	defer file.Close()
	var all []hierarchy
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 2 && (fields[2] == "cgroup" || fields[2] == "cgroup2") {
			all = append(all, hierarchy{mount: fields[1], unified: fields[2] == "cgroup2"})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("looking for control groups: %w", err)
	}
	return all, nil
}

// makeGroups makes the group that the kubelet puts its pods below, in every tree.
func makeGroups(s Settings) error {
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	for _, tree := range trees {
		group := filepath.Join(tree.mount, s.mark())
		if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making a control group: %w", err)
		}
		if tree.unified {
			err = passOn(tree.mount)
		} else {
			err = inherit(tree.mount, group)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// passOn lets the groups below the root have the controllers that the root has.
func passOn(mount string) error {
	content, err := os.ReadFile(filepath.Join(mount, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("reading the controllers: %w", err)
	}
	for _, controller := range strings.Fields(string(content)) {
		if err := os.WriteFile(filepath.Join(mount, "cgroup.subtree_control"), []byte("+"+controller), 0); err != nil {
			return fmt.Errorf("passing on the controller %s: %w", controller, err)
		}
	}
	return nil
}

// inherit gives a new group the processors and memory of its parent: version 1 starts it with none, and then takes no process.
func inherit(mount, group string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		content, err := os.ReadFile(filepath.Join(mount, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the tree is another controller's
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(group, name), content, 0)
		}
		if err != nil {
			return fmt.Errorf("giving the control group its processors: %w", err)
		}
	}
	return nil
}

// removeGroups removes the node's groups when the last process has left them.
func removeGroups(s Settings) error {
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	for _, tree := range trees {
		if err := removeTree(filepath.Join(tree.mount, s.mark())); err != nil {
			return err
		}
	}
	return nil
}

func removeTree(root string) error {
	var groups []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			groups = append(groups, path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("looking for control groups: %w", err)
	}
	slices.Reverse(groups) // those below first
	for _, group := range groups {
		// rmdir alone, for the files of a group cannot be removed.
		err := syscall.Rmdir(group)
		for waited := time.Duration(0); errors.Is(err, syscall.EBUSY) && waited < emptyWithin; waited += lookEvery {
			time.Sleep(lookEvery)
			err = syscall.Rmdir(group)
		}
		if err != nil && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("removing the control group %s, which processes of the node may still be in: %w", group, err)
		}
	}
	return nil
}
