// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/localcluster/nodes"
	"slipway.dev/slipway/test/ground"
)

const (
	// podsPerNode keeps the nodes few: what they cost is not what is measured.
	podsPerNode = 250
	fewestNodes = 6

	controllerManager = "kube-controller-manager"
)

// cluster is where the bench measures.
type cluster struct {
	// root is a directory of the bench's own, laid out like the repository, for the processes that it starts.
	root string
	// own says that the plane is the bench's own.
	own        bool
	kubeconfig string
	config     *rest.Config
	api        client.WithWatch
	core       kubernetes.Interface
	// audit is the path of the audit log, empty if it is not at hand.
	audit string
	// processes are those of the plane that this machine runs, by name.
	processes map[string]int
}

// openCluster starts a cluster with room for a round, or reaches the one that the flags name.
func openCluster(ctx context.Context, o *options, repository string, r round, out io.Writer) (_ *cluster, err error) {
	c := &cluster{own: o.kubeconfig == "", kubeconfig: o.kubeconfig, audit: o.auditLog, processes: map[string]int{}}
	if c.root, err = ground.NewRoot(repository, "slipway-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	plane := repository // if that cluster is a local one, it is the repository's
	if c.own {
		plane = c.root
		if err := up(ctx, o, repository, c.root, r, out); err != nil {
			return nil, err
		}
		c.kubeconfig = localcluster.KubeconfigPath(c.root)
	}
	if local := c.own || sameFile(c.kubeconfig, localcluster.KubeconfigPath(repository)); local {
		c.audit = localcluster.AuditLogPath(plane)
		state, err := localcluster.Status(ctx, plane)
		if err != nil {
			return nil, fmt.Errorf("looking for the plane's processes: %w", err)
		}
		if state != nil {
			for _, component := range state.Components {
				c.processes[component.Name] = component.PID
			}
		}
	}
	if o.controllerManagerPID != 0 {
		c.processes[controllerManager] = o.controllerManagerPID
	}
	return c, c.connect()
}

func up(ctx context.Context, o *options, repository, root string, r round, out io.Writer) error {
	settings := nodes.Defaults()
	// A tenth more: the scheduler shall not have to search for the last places.
	settings.PodsPerNode, settings.Count = podsPerNode, max(fewestNodes, 1+r.room*11/10/podsPerNode)
	if every := len(settings.Zones) * len(r.cells); every > 0 { // each cell gets as many nodes
		settings.Cells, settings.Count = r.cells, (settings.Count+every-1)/every*every
	}
	settings.StartDelay, settings.RestartDelay = o.nodeDelay, o.nodeDelay
	err := localcluster.Up(ctx, localcluster.Options{
		Root: root, Nodes: &settings, Executable: filepath.Join(repository, "bin", "localcluster"), CountRequests: true, Out: out,
	})
	if err != nil {
		return fmt.Errorf("starting a cluster: %w", err)
	}
	return nil
}

func (c *cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %s: %w", c.kubeconfig, err)
	}
	config.UserAgent, config.QPS = benchAgent, -1
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, kruisev1alpha1.AddToScheme, kruisev1beta1.AddToScheme, cafev1alpha1.AddToScheme, rolloutv1alpha1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(known); err != nil {
			return fmt.Errorf("registering API kinds: %w", err)
		}
	}
	if c.api, err = client.NewWithWatch(config, client.Options{Scheme: known}); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	c.config = config
	protobuf := rest.CopyConfig(config)
	protobuf.ContentType = "application/vnd.kubernetes.protobuf" // the bench's own lists shall cost little
	if c.core, err = kubernetes.NewForConfig(protobuf); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	return nil
}

// close stops everything that was started for this cluster and removes it.
func (c *cluster) close() error {
	if err := localcluster.Down(c.root, false, io.Discard); err != nil {
		return fmt.Errorf("stopping the cluster in %s: %w", c.root, err)
	}
	if err := os.RemoveAll(c.root); err != nil {
		return fmt.Errorf("removing the cluster's directory: %w", err)
	}
	return nil
}

// logEnd is how long the audit log is now; 0 without one.
func (c *cluster) logEnd() (int64, error) {
	if c.audit == "" {
		return 0, nil
	}
	info, err := os.Stat(c.audit)
	if err != nil {
		return 0, fmt.Errorf("looking at the audit log: %w", err)
	}
	return info.Size(), nil
}

func sameFile(a, b string) bool {
	one, errOne := os.Stat(a)
	two, errTwo := os.Stat(b)
	return errOne == nil && errTwo == nil && os.SameFile(one, two)
}
