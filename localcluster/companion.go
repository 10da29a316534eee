// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A companion is a program that runs beside the cluster and belongs to it, such as a controller
// manager under test: its pid stands in .local/run, its log in .local/logs, and Down stops it first.

// StartCompanion starts a program as a companion. One of that name that still runs is stopped before. The
// channel is closed when the program ends, if the caller still runs then.
func StartCompanion(root, name, program string, args ...string) (ended <-chan struct{}, err error) {
	files := layout{root}
	if slices.Contains(componentNames(), name) {
		return nil, fmt.Errorf("a companion cannot be called %s: that is a part of the cluster", name)
	}
	if err := stop(files, name); err != nil {
		return nil, err
	}
	return start(files, name, program, args)
}

// StopCompanion stops a companion and returns when it is gone. It is no error if it does not run.
func StopCompanion(root, name string) error { return stop(layout{root}, name) }

// CompanionPID is the process of a companion; 0 if it does not run.
func CompanionPID(root, name string) (int, error) {
	p, err := findProcess(layout{root}, name)
	if p == nil || err != nil {
		return 0, err
	}
	return p.PID, nil
}

// CompanionLog is where a companion's output goes; each start appends.
func CompanionLog(root, name string) string { return layout{root}.log(name) }

// companions are the names of all that have a pid file and are no part of the cluster.
func companions(files layout) ([]string, error) {
	entries, err := os.ReadDir(files.in("run"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for processes beside the cluster: %w", err)
	}
	var names []string
	for _, entry := range entries {
		name, isPidFile := strings.CutSuffix(entry.Name(), filepath.Ext(files.pidFile("")))
		if isPidFile && !slices.Contains(componentNames(), name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func componentNames() []string {
	return []string{realNodeComponent, nodesComponent, "kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"}
}
