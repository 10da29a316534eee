// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/localcluster"
)

const (
	managerName = "manager"
	// lookEvery is the time between two looks at something that tells nobody when it changes.
	lookEvery = 50 * time.Millisecond
)

// manager is the one that is measured.
type manager struct {
	pid int // 0 if it cannot be seen from here
	// metrics is the address of its metrics; empty for one that the bench did not start.
	metrics string
	probes  string
	// began is just before its start, ended closes when it ends.
	began time.Time
	ended <-chan struct{}
}

// startManager starts the manager, or takes the user's. One that the bench started before must have been stopped.
func (b *bench) startManager(ctx context.Context) (*manager, error) {
	if b.o.foreignManager() {
		return &manager{pid: b.o.managerPID}, nil
	}
	probes, metrics, err := twoFreePorts()
	if err != nil {
		return nil, err
	}
	program := b.o.managerProgram
	if program == "" {
		program = filepath.Join(b.repository, "bin", "slipway-manager")
	}
	args := append([]string{
		"--kubeconfig=" + b.cluster.kubeconfig, "--leader-elect=false", "--health-probe-bind-address=" + probes, "--metrics-bind-address=" + metrics,
	}, b.o.managerArgs...)
	m := &manager{metrics: "http://" + metrics + "/metrics", probes: "http://" + probes + "/readyz", began: time.Now()}
	if m.ended, err = localcluster.StartCompanion(b.cluster.root, managerName, program, args...); err != nil {
		return nil, fmt.Errorf("starting the manager: %w", err)
	}
	if m.pid, err = localcluster.CompanionPID(b.cluster.root, managerName); err != nil {
		return nil, err
	}
	if err := m.await(ctx, "be ready", m.isReady); err != nil {
		return nil, errors.Join(err, b.stopManager())
	}
	return m, nil
}

// stopManager stops the manager if the bench started it.
func (b *bench) stopManager() error {
	if b.o.foreignManager() {
		return nil
	}
	if err := localcluster.StopCompanion(b.cluster.root, managerName); err != nil {
		return fmt.Errorf("stopping the manager: %w", err)
	}
	return nil
}

// orEnded is a context that ends with the manager, so that nobody waits for what it would have done.
func orEnded(ctx context.Context, ended <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-ended: // never, if the bench did not start it
			stop(errors.New("the manager ended"))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { stop(nil) }
}

// keepLog saves the manager's log beside the figures, before the cluster's directory is removed.
func (b *bench) keepLog() error {
	if b.o.foreignManager() || b.o.out == "" {
		return nil
	}
	content, err := os.ReadFile(localcluster.CompanionLog(b.cluster.root, managerName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was not needed yet
	}
	if err != nil {
		return fmt.Errorf("reading the manager's log: %w", err)
	}
	path := fmt.Sprintf("%s-run-%d-%s-manager.log", strings.TrimSuffix(b.o.out, filepath.Ext(b.o.out)), b.run, b.round.name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of the manager's log: %w", err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("keeping the manager's log: %w", err)
	}
	b.say("  the manager's log is in %s", path)
	return nil
}

// await asks until the answer is yes, the manager ends or ctx does.
func (m *manager) await(ctx context.Context, what string, ask func(context.Context) (bool, error)) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		done, err := ask(ctx)
		if done {
			return nil
		}
		select {
		case <-m.ended:
			return fmt.Errorf("the manager ended and shall %s", what)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("waiting for the manager to %s: %w", what, context.Cause(ctx)), err)
		case <-tick.C:
		}
	}
}

func (m *manager) isReady(ctx context.Context) (bool, error) {
	_, err := fetch(ctx, m.probes)
	return err == nil, err
}

// passed says whether a controller has been through so many objects and has nothing left to do.
func (m *manager) passed(controller string, objects int) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		text, err := fetch(ctx, m.metrics)
		if err != nil {
			return false, err
		}
		total, err := sumMetric(text, "controller_runtime_reconcile_total", "controller", controller)
		if err != nil {
			return false, err
		}
		waiting, err := sumMetric(text, "workqueue_depth", "name", controller)
		if err != nil {
			return false, err
		}
		working, err := sumMetric(text, "controller_runtime_active_workers", "controller", controller)
		return err == nil && int(total) >= objects && waiting == 0 && working == 0, err
	}
}

// heapBytes is how much of the Go heap is in use, garbage included; false for a manager without known metrics.
func (m *manager) heapBytes(ctx context.Context) (float64, bool) {
	if m.metrics == "" {
		return 0, false
	}
	text, err := fetch(ctx, m.metrics)
	if err != nil {
		return 0, false
	}
	bytes, err := sumMetric(text, "go_memstats_heap_inuse_bytes", "", "")
	return bytes, err == nil
}

// sumMetric adds up the samples of a metric in the Prometheus text format that have a label with a value; without a
// label, all of them. A metric that is not there is 0: a counter first appears when it counts.
func sumMetric(text, metric, label, value string) (float64, error) {
	sum := 0.0
	in := bufio.NewScanner(strings.NewReader(text))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		rest, found := strings.CutPrefix(in.Text(), metric)
		if !found || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue // another metric whose name only begins so
		}
		labels, number := "", rest
		if end := strings.LastIndex(rest, "}"); end >= 0 {
			labels, number = rest[1:end], rest[end+1:]
		}
		if label != "" && !strings.Contains(","+labels, fmt.Sprintf(",%s=%q", label, value)) {
			continue
		}
		fields := strings.Fields(number)
		if len(fields) == 0 {
			return 0, fmt.Errorf("metric %s: a sample without a value", metric)
		}
		n, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", metric, err)
		}
		sum += n
	}
	if err := in.Err(); err != nil {
		return 0, fmt.Errorf("reading metrics: %w", err)
	}
	return sum, nil
}

func fetch(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("asking %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("reading from %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", url, response.Status)
	}
	return string(content), nil
}

// twoFreePorts finds loopback addresses that nobody listens on right now.
func twoFreePorts() (one, two string, err error) {
	var addresses [2]string
	for i := range addresses {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", fmt.Errorf("looking for a free port: %w", err)
		}
		defer listener.Close() // both stay open until both are found, so that they differ
		addresses[i] = listener.Addr().String()
	}
	return addresses[0], addresses[1], nil
}
