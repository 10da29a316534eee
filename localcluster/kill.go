// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// Kill ends a component or a companion as a lost machine does: without notice. It returns when the process is gone, and
// leaves the rest of the cluster to cope. It is no error if it does not run.
func Kill(root, name string) error {
	p, err := findProcess(layout{root}, name)
	if p == nil || err != nil {
		return err
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing %s (pid %d): %w", name, p.PID, err)
	}
	for waited := time.Duration(0); waited < stopGrace; waited += lookEvery {
		if !p.alive() {
			return nil
		}
		time.Sleep(lookEvery)
	}
	return fmt.Errorf("%s (pid %d) is still there after SIGKILL", name, p.PID)
}

// Revive starts one component of the plane again that has ended, with its data and on its port, and waits until it is
// healthy. One that runs is left alone.
func Revive(ctx context.Context, root, name string) error {
	files := layout{root}
	rec, err := readRecord(files)
	if err == nil && rec == nil {
		err = ErrNoCluster
	}
	if err != nil {
		return err
	}
	components := plane(files, rec.Ports)
	i := slices.IndexFunc(components, func(c component) bool { return c.name == name })
	if i < 0 {
		return fmt.Errorf("%s is no component of the control plane", name)
	}
	if p, err := findProcess(files, name); p != nil || err != nil {
		return err
	}
	ended, err := start(files, name, files.binary(name), components[i].args)
	if err != nil {
		return err
	}
	if err := waitHealthy(ctx, files, components[i], ended); err != nil {
		return errors.Join(err, stop(files, name))
	}
	return nil
}
