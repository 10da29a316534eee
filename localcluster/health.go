// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/localcluster/nodes"
)

// ErrNoCluster says that nobody brought the cluster up yet.
var ErrNoCluster = errors.New("there is no cluster: run `localcluster up`")

// Health is the state of one process.
type Health string

const (
	// Healthy processes run and answer.
	Healthy Health = "healthy"
	// Unhealthy processes run and do not answer as they should.
	Unhealthy Health = "not healthy"
	// Stopped processes do not run.
	Stopped Health = "not running"
)

// ComponentState is what Status says of one process. PID and Port are 0 where there is none.
type ComponentState struct {
	Name  string
	State Health
	PID   int
	Port  int
}

// State is what Status says of the cluster.
type State struct {
	Components []ComponentState
	Kubeconfig string
	Nodes      nodes.Settings
}

// Status looks at every process of the cluster. It returns nil if there is no cluster.
func Status(ctx context.Context, root string) (*State, error) {
	files := layout{root}
	rec, err := readRecord(files)
	if rec == nil || err != nil {
		return nil, err
	}
	components, err := inspect(ctx, files, rec)
	if err != nil {
		return nil, err
	}
	return &State{Components: components, Kubeconfig: files.kubeconfig(), Nodes: rec.Nodes}, nil
}

func inspect(ctx context.Context, files layout, rec *record) ([]ComponentState, error) {
	var states []ComponentState
	all := append(plane(files, rec.Ports), component{name: nodesComponent})
	if rec.RealNode {
		all = append(all, component{name: realNodeComponent})
	}
	for _, c := range all {
		state := ComponentState{Name: c.name, State: Stopped, Port: c.port}
		p, err := findProcess(files, c.name)
		if err != nil {
			return nil, err
		}
		if p != nil {
			state.PID, state.State = p.PID, Healthy
			if c.port != 0 && !asks(ctx, files, c) {
				state.State = Unhealthy
			}
		}
		states = append(states, state)
	}
	return states, nil
}

// asks a component once how it is.
func asks(ctx context.Context, files layout, c component) bool {
	client, err := healthClient(files, c)
	if err != nil {
		return false
	}
	defer client.CloseIdleConnections()
	return healthy(ctx, client, c)
}

func healthy(ctx context.Context, client *http.Client, c component) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address(c.port)+c.health, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err == nil && response.StatusCode == http.StatusOK
}

// healthClient trusts and is trusted by the component, and by nothing else on its port.
func healthClient(files layout, c component) (*http.Client, error) {
	authority, who := "ca.crt", "admin"
	if c.store {
		authority, who = "etcd-ca.crt", "etcd-client"
	}
	roots, err := os.ReadFile(files.pki(authority))
	if err != nil {
		return nil, fmt.Errorf("reading the authority of %s: %w", c.name, err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(roots)
	pair, err := tls.LoadX509KeyPair(files.pki(who+".crt"), files.pki(who+".key"))
	if err != nil {
		return nil, fmt.Errorf("reading the certificate for %s: %w", c.name, err)
	}
	return &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		}},
	}, nil
}

func waitHealthy(ctx context.Context, files layout, c component, ended <-chan struct{}) error {
	client, err := healthClient(files, c)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return wait(ctx, files, c.name, ended, func(ctx context.Context) error {
		if !healthy(ctx, client, c) {
			return fmt.Errorf("https://%s%s does not answer 200", address(c.port), c.health)
		}
		return nil
	})
}

// wait tries until the test passes, the process ends, or the time is over.
func wait(ctx context.Context, files layout, name string, ended <-chan struct{}, test func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		err := test(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("%s ended at its start; the end of %s:\n%s", name, files.log(name), tail(files, name))
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("%s is not well after %s (log %s): %w", name, startTimeout, files.log(name), err)
			}
			return fmt.Errorf("waiting for %s: %w", name, ctx.Err())
		case <-tick.C:
		}
	}
}

// ClientConfig is the administrator's access to the cluster of the repository at root.
func ClientConfig(root string) (*rest.Config, error) {
	return clientConfig(layout{root}.kubeconfig())
}

// NodesClientConfig is the access of the simulated nodes.
func NodesClientConfig(root string) (*rest.Config, error) {
	return clientConfig(layout{root}.conf("nodes.kubeconfig"))
}

func clientConfig(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig (is the cluster up?): %w", err)
	}
	return config, nil
}

// NodeSettings are what Up decided about the nodes of the cluster of the repository at root. The error is
// ErrNoCluster if there is none.
func NodeSettings(root string) (nodes.Settings, error) {
	rec, err := readRecord(layout{root})
	if err == nil && rec == nil {
		err = ErrNoCluster
	}
	if err != nil {
		return nodes.Settings{}, err
	}
	return rec.Nodes, nil
}

// waitUsable waits until a pod that anybody creates now would be admitted, scheduled and started.
func waitUsable(ctx context.Context, files layout, count int, ended <-chan struct{}) error {
	client, err := administrator(files)
	if err != nil {
		return err
	}
	return wait(ctx, files, nodesComponent, ended, func(ctx context.Context) error {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: nodes.LabelSimulated})
		if err != nil {
			return fmt.Errorf("listing nodes: %w", err)
		}
		ready := 0
		for i := range list.Items {
			if takesPods(&list.Items[i]) {
				ready++
			}
		}
		if ready != count || len(list.Items) != count {
			return fmt.Errorf("%d of %d nodes are ready, %d exist", ready, count, len(list.Items))
		}
		if _, err := client.StorageV1().StorageClasses().Get(ctx, nodes.StorageClass, metav1.GetOptions{}); err != nil {
			return fmt.Errorf("looking for the StorageClass: %w", err)
		}
		_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return errors.New("the namespace default has no service account yet, so it would refuse pods")
		}
		if err != nil {
			return fmt.Errorf("looking for the service account: %w", err)
		}
		return nil
	})
}

// takesPods is true for a node that is ready and not tainted for its state. One that was made full or cut off on
// purpose counts, as it is what somebody asked for.
func takesPods(n *corev1.Node) bool {
	if n.Annotations[nodes.AnnotationCut] != "" {
		return true
	}
	for _, taint := range n.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return false
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
