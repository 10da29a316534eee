// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"slipway.dev/slipway/localcluster/nodes"
	"slipway.dev/slipway/localcluster/realnode"
)

// nodesComponent is the process that stands in for all nodes.
const nodesComponent = "nodes"

// startTimeout bounds the wait for one component to become healthy.
const startTimeout = 2 * time.Minute

// Options say what Up shall bring up.
type Options struct {
	// Root is the repository's root directory.
	Root string
	// Nodes nil: as they were, or the defaults.
	Nodes *nodes.Settings
	// RealNode asks for a real node beside the simulated ones, or for none; nil: as it was, or none. Where the machine
	// lacks what it needs, Up says so and goes on without.
	RealNode *bool
	// Executable is the localcluster program, which Up runs as `localcluster nodes` ("": this program). What the images
	// of a real node hold stands beside it.
	Executable string
	// CountRequests has the audit log tell of every request, reads too, and hold no objects: whoever counts requests does
	// not want to measure what their objects cost the log. It takes effect when the plane is started.
	CountRequests bool
	// Out receives progress lines for people.
	Out io.Writer
}

// Up brings the cluster up and returns when it can be used: the plane is healthy, the nodes are ready, and
// pods can be created in the namespace default. What is missing is built first. On a healthy cluster it only
// applies changed node settings. When it fails or ctx ends, nothing of what it started runs on.
func Up(ctx context.Context, options Options) error {
	files := layout{options.Root}
	unlock, err := lock(files)
	if err != nil {
		return err
	}
	defer unlock()
	if options.Executable == "" {
		if options.Executable, err = os.Executable(); err != nil {
			return fmt.Errorf("finding this program: %w", err)
		}
	}
	if err := Build(ctx, options.Root, options.Out); err != nil {
		return err
	}
	earlier, err := readRecord(files)
	if err != nil {
		return err
	}
	settings := nodes.Defaults()
	if earlier != nil {
		settings = earlier.Nodes
	}
	if options.Nodes != nil {
		settings = *options.Nodes
	}
	if err := settings.Validate(); err != nil {
		return fmt.Errorf("the nodes' settings: %w", err)
	}
	withReal := wantsRealNode(options, earlier)
	if earlier != nil {
		done, err := upOnWhatIsThere(ctx, files, options, earlier, settings, withReal)
		if done || err != nil {
			return err
		}
	}
	return startAll(ctx, files, options, earlier, settings, withReal)
}

// upOnWhatIsThere reports true when the cluster runs already. A half-dead one it stops.
func upOnWhatIsThere(ctx context.Context, files layout, options Options, earlier *record, settings nodes.Settings, withReal bool) (bool, error) {
	states, err := inspect(ctx, files, earlier)
	if err != nil {
		return false, err
	}
	var ill []string
	running := 0
	for _, state := range states {
		if state.PID != 0 {
			running++
		}
		if state.State != Healthy {
			ill = append(ill, fmt.Sprintf("%s is %s", state.Name, state.State))
		}
	}
	switch {
	case len(ill) == 0 && settings.Equal(earlier.Nodes) && withReal == earlier.RealNode:
		fmt.Fprintf(options.Out, "the cluster is running already (kubeconfig %s)\n", files.kubeconfig())
		return true, nil
	case len(ill) == 0:
		fmt.Fprintln(options.Out, "the cluster is running; changing its nodes")
		if !settings.Equal(earlier.Nodes) {
			if err := restartNodes(ctx, files, options, earlier, settings); err != nil {
				return true, err
			}
		}
		if withReal != earlier.RealNode {
			return true, changeRealNode(ctx, files, options, earlier, withReal)
		}
		return true, nil
	case running > 0:
		fmt.Fprintf(options.Out, "the cluster is not whole (%s): starting it again with its data\n", strings.Join(ill, ", "))
		return false, stopAll(files, io.Discard)
	default:
		fmt.Fprintln(options.Out, "starting the cluster again with the data that it has")
		return false, nil
	}
}

func restartNodes(ctx context.Context, files layout, options Options, rec *record, settings nodes.Settings) error {
	if err := stop(files, nodesComponent); err != nil {
		return err
	}
	rec.Nodes = settings
	if err := rec.write(files); err != nil {
		return err
	}
	if err := startNodes(ctx, files, options, rec); err != nil {
		return errors.Join(err, stop(files, nodesComponent))
	}
	return nil
}

func startAll(ctx context.Context, files layout, options Options, earlier *record, settings nodes.Settings, withReal bool) (err error) {
	begin := time.Now()
	rec := &record{Nodes: settings, RealNode: withReal, Programs: filepath.Dir(options.Executable)}
	if earlier != nil {
		rec.Ports, rec.Network = earlier.Ports, earlier.Network
	}
	if rec.Network, err = chooseNetwork(options.Root, rec.Network); err != nil {
		return err
	}
	if rec.Ports, err = choosePorts(options.Root, rec.Ports, portFree); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		err = errors.Join(err, stopAll(files, io.Discard))
		if ctx.Err() != nil && earlier == nil {
			err = errors.Join(err, removeState(files))
		}
	}()
	if err := rec.write(files); err != nil {
		return err
	}
	if err := makeCertificates(files, realnode.Address(rec.Network), time.Now()); err != nil {
		return err
	}
	if err := writeConfiguration(files, rec.Ports, options.CountRequests); err != nil {
		return err
	}
	fmt.Fprintln(options.Out, "starting the control plane")
	if err := startPlane(ctx, files, rec); err != nil {
		return err
	}
	if err := startNodes(ctx, files, options, rec); err != nil {
		return err
	}
	if withReal {
		if err := startRealNode(ctx, files, options, rec); err != nil {
			return err
		}
	}
	fmt.Fprintf(options.Out, "the cluster is up after %s: https://%s, %d nodes\n",
		time.Since(begin).Round(100*time.Millisecond), address(rec.Ports[portAPI]), settings.Count)
	return nil
}

// startPlane starts etcd, then the API server, then the other two together, each when those before it are healthy.
func startPlane(ctx context.Context, files layout, rec *record) error {
	components := plane(files, rec.Ports)
	for _, stage := range [][]component{components[:1], components[1:2], components[2:]} {
		group, ctx := errgroup.WithContext(ctx)
		for _, c := range stage {
			ended, err := start(files, c.name, files.binary(c.name), c.args)
			if err != nil {
				return errors.Join(err, group.Wait())
			}
			group.Go(func() error { return waitHealthy(ctx, files, c, ended) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func startNodes(ctx context.Context, files layout, options Options, rec *record) error {
	ended, err := start(files, nodesComponent, options.Executable, []string{"nodes", "--root", options.Root})
	if err != nil {
		return err
	}
	return waitUsable(ctx, files, rec.Nodes.Count, ended)
}

// stopAll ends the processes in the reverse order of starting: nobody loses what it still talks to.
func stopAll(files layout, out io.Writer) error {
	errs := []error{stopRealNode(files)} // the kubelet reports to the API server to its end
	for _, stage := range [][]string{{nodesComponent, "kube-scheduler", "kube-controller-manager"}, {"kube-apiserver"}, {"etcd"}} {
		var group errgroup.Group
		for _, name := range stage {
			group.Go(func() error {
				if err := stop(files, name); err != nil {
					return err
				}
				return nil
			})
		}
		errs = append(errs, group.Wait())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Fprintln(out, "all processes of the cluster are gone")
	return nil
}

// Down stops the cluster and returns when every process is really gone. Without keepData it also
// removes all state.
func Down(root string, keepData bool, out io.Writer) error {
	files := layout{root}
	if _, err := os.Stat(files.state()); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(out, "there is no cluster")
		return nil
	}
	unlock, err := lock(files)
	if err != nil {
		return err
	}
	defer unlock()
	beside, err := companions(files)
	if err != nil {
		return err
	}
	for _, name := range beside { // they need the API server to end in order
		if err := stop(files, name); err != nil {
			return err
		}
	}
	if err := stopAll(files, out); err != nil {
		return err
	}
	if keepData {
		return nil
	}
	return removeState(files)
}

// removeState removes what this package wrote, and nothing that somebody else put beside it.
func removeState(files layout) error {
	for _, name := range []string{"etcd", "logs", "run", "conf", "pki", "node", "kubeconfig", "cluster.json", "lock"} {
		if err := os.RemoveAll(files.in(name)); err != nil {
			return fmt.Errorf("removing the cluster's state: %w", err)
		}
	}
	entries, err := os.ReadDir(files.state())
	if err != nil {
		return fmt.Errorf("reading %s: %w", files.state(), err)
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), "audit") && strings.HasSuffix(e.Name(), ".log") && os.Remove(files.in(e.Name())) == nil
	})
	if len(entries) > 0 {
		return nil
	}
	if err := os.Remove(files.state()); err != nil {
		return fmt.Errorf("removing the cluster's directory: %w", err)
	}
	return nil
}

// lock keeps two commands from working on one cluster at the same time.
func lock(files layout) (func(), error) {
	if err := os.MkdirAll(files.state(), 0o700); err != nil {
		return nil, fmt.Errorf("making %s: %w", files.state(), err)
	}
	file, err := os.OpenFile(files.in("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another localcluster command works on %s right now: %w", files.state(), err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing gives the lock back
}
