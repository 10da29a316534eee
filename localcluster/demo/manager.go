// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/localcluster"
)

// managerName is the manager as a companion of the local cluster.
const managerName = "manager"

// deployed says whether the cluster runs its own manager.
func deployed(ctx context.Context, c client.Client) (bool, error) {
	d := &appsv1.Deployment{}
	err := c.Get(ctx, types.NamespacedName{Namespace: "slipway-system", Name: "slipway-manager"}, d)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for a manager in the cluster: %w", err)
	}
	return d.Status.AvailableReplicas > 0, nil
}

// startManager starts the manager as a process of this machine and waits until it works. One that an earlier
// demo left is stopped, since it may be of an older build.
func startManager(ctx context.Context, root, kubeconfig string) error {
	program := filepath.Join(root, "bin", "slipway-manager")
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there: run `make build`", program)
	}
	probes, metrics, err := twoFreePorts()
	if err != nil {
		return err
	}
	ended, err := localcluster.StartCompanion(root, managerName, program,
		"--kubeconfig="+kubeconfig, "--leader-elect=true", "--health-probe-bind-address="+probes, "--metrics-bind-address="+metrics)
	if err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	if err := waitReady(ctx, "http://"+probes+"/readyz", ended); err != nil {
		return errors.Join(fmt.Errorf("starting the manager (log %s): %w", localcluster.CompanionLog(root, managerName), err),
			localcluster.StopCompanion(root, managerName))
	}
	return nil
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

func waitReady(ctx context.Context, url string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		err := ask(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w", err)
		case <-tick.C:
		}
	}
}

func ask(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
