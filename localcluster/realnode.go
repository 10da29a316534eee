// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"slipway.dev/slipway/localcluster/realnode"
)

// realNodeComponent is the first process of the real node's namespace.
const realNodeComponent = "real-node"

// RealNodeSettings are where the real node of the cluster at root has its things. The error is ErrNoCluster if there
// is no cluster; the settings also exist where no real node runs.
func RealNodeSettings(root string) (realnode.Settings, error) {
	files := layout{root}
	rec, err := readRecord(files)
	if err == nil && rec == nil {
		err = ErrNoCluster
	}
	if err != nil {
		return realnode.Settings{}, err
	}
	return rec.realNode(files), nil
}

// HasRealNode tells whether the cluster at root was brought up with a real node.
func HasRealNode(root string) (bool, error) {
	rec, err := readRecord(layout{root})
	return rec != nil && rec.RealNode, err
}

// RealNodePID is the process of "kubelet" or "containerd" on the real node of the cluster at root; 0 if it does not run
// now. Either is started again a second after it ends.
func RealNodePID(root, program string) (int, error) {
	first, err := findProcess(layout{root}, realNodeComponent)
	if first == nil || err != nil {
		return 0, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, fmt.Errorf("looking for %s: %w", program, err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue // it is no process, or ended just now
		}
		var pid, parent int
		var name, state string
		if _, err := fmt.Sscanf(string(content), "%d (%s %s %d", &pid, &name, &state, &parent); err != nil {
			continue // a name with a space is neither of these
		}
		if parent == first.PID && name == program+")" && state != "Z" {
			return pid, nil
		}
	}
	return 0, nil
}

func (r *record) realNode(files layout) realnode.Settings {
	return realnode.Settings{
		Dir: files.node(), Logs: files.in("logs"), Network: r.Network, Port: r.Ports[portKubelet],
		Kubelet: files.binary("kubelet"), Kubeconfig: files.conf("kubelet.kubeconfig"),
		Authority: files.pki("ca.crt"), Certificate: files.pki("kubelet-server.crt"), Key: files.pki("kubelet-server.key"),
		Programs: r.Programs,
	}
}

// wantsRealNode decides on a real node by what was asked for, what there was, and what the machine has.
func wantsRealNode(options Options, earlier *record) bool {
	wanted := earlier != nil && earlier.RealNode
	if options.RealNode != nil {
		wanted = *options.RealNode
	}
	if !wanted {
		return false
	}
	missing := realnode.Missing()
	if len(missing) > 0 {
		fmt.Fprintf(options.Out, "NO REAL NODE, only simulated ones:\n  %s\n", strings.Join(missing, "\n  "))
	}
	return len(missing) == 0
}

// startRealNode starts the real node and returns when it takes pods.
func startRealNode(ctx context.Context, files layout, options Options, rec *record) error {
	fmt.Fprintln(options.Out, "starting the real node")
	settings := rec.realNode(files)
	if err := realnode.Clean(settings); err != nil {
		return err
	}
	if !realnode.NetworkFree(rec.Network) {
		return fmt.Errorf("this machine now has an address in the real node's network %s: `localcluster down`, then up, takes another", rec.Network)
	}
	if err := realnode.Prepare(settings); err != nil {
		return err
	}
	ended, err := startWith(files, realNodeComponent, options.Executable, []string{"real-node", "--root", options.Root}, realnode.Isolation())
	if err != nil {
		return err
	}
	client, err := administrator(files)
	if err != nil {
		return err
	}
	return wait(ctx, files, realNodeComponent, ended, func(ctx context.Context) error {
		n, err := client.CoreV1().Nodes().Get(ctx, realnode.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("looking for node %s: %w", realnode.Name, err)
		}
		if !takesPods(n) {
			return fmt.Errorf("node %s is not ready", realnode.Name)
		}
		return nil
	})
}

// stopRealNode ends the real node with all its containers, and leaves the machine as it was before.
func stopRealNode(files layout) error {
	if err := stop(files, realNodeComponent); err != nil {
		return err
	}
	return realnode.Clean(realnode.Settings{Dir: files.node()})
}

// forgetRealNode removes the Node object, and so its pods, from a cluster that runs on without it.
func forgetRealNode(ctx context.Context, files layout) error {
	client, err := administrator(files)
	if err != nil {
		return err
	}
	if err := client.CoreV1().Nodes().Delete(ctx, realnode.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing node %s: %w", realnode.Name, err)
	}
	return nil
}

func administrator(files layout) (kubernetes.Interface, error) {
	config, err := clientConfig(files.kubeconfig())
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client, nil
}

// changeRealNode starts or stops the real node of a running cluster.
func changeRealNode(ctx context.Context, files layout, options Options, rec *record, wanted bool) error {
	rec.RealNode, rec.Programs = wanted, filepath.Dir(options.Executable)
	if err := rec.write(files); err != nil {
		return err
	}
	if !wanted {
		return errors.Join(stopRealNode(files), forgetRealNode(ctx, files))
	}
	if err := startRealNode(ctx, files, options, rec); err != nil {
		return errors.Join(err, stopRealNode(files))
	}
	return nil
}

func chooseNetwork(root string, earlier netip.Prefix) (netip.Prefix, error) {
	if earlier.IsValid() {
		return earlier, nil
	}
	return realnode.ChooseNetwork(root, realnode.NetworkFree)
}
