// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/localcluster/nodes"
	"slipway.dev/slipway/test/audit"
	"slipway.dev/slipway/test/ground"
)

// podDelay is how long simulated containers take to start: long enough for faults to strike in the middle.
const podDelay = time.Second

// plane is the cluster that everything happens on.
type plane struct {
	repository, root string
	api              client.Client
	// watches has no limit of time, as a watch needs it.
	watches client.WithWatch
	config  *rest.Config
	token   string
	// log is how far the audit log is read, events what was read since the story began.
	log    int64
	events []audit.Event
	// keeper ends with stop. It starts again what ends of the plane by itself, as a kubelet does: the scheduler does when
	// the API server has lost an answer to it.
	keeper errgroup.Group
	stop   context.CancelFunc
}

func (p *plane) program(name string) string { return filepath.Join(p.root, "programs", name) }

// open builds the programs, starts a cluster and installs Slipway on it.
func open(ctx context.Context, repository string, ahead bool, out io.Writer) (p *plane, err error) {
	root, err := ground.NewRoot(repository, "slipway-faults-")
	if err != nil {
		return nil, err
	}
	kept, stop := context.WithCancel(ctx)
	p = &plane{repository: repository, root: root, stop: stop}
	defer func(half *plane) {
		if err != nil {
			err = errors.Join(err, half.close(false))
		}
	}(p)
	if err := os.Mkdir(p.program(""), 0o755); err != nil {
		return nil, fmt.Errorf("making a place for the programs: %w", err)
	}
	if err := ground.Build(ctx, repository, p.program("")+"/", "./cmd/localcluster", "./cmd/slipway-manager"); err != nil {
		return nil, err
	}
	if ahead {
		fmt.Fprintln(out, "building a manager whose clock is a minute ahead")
		if err := p.buildAhead(ctx); err != nil {
			return nil, err
		}
	}
	settings := nodes.Defaults()
	settings.StartDelay, settings.RestartDelay = podDelay, podDelay
	err = localcluster.Up(ctx, localcluster.Options{Root: root, Nodes: &settings, Executable: p.program("localcluster"), Out: out})
	if err != nil {
		return nil, fmt.Errorf("starting a cluster: %w", err)
	}
	if p.config, err = localcluster.ClientConfig(root); err != nil {
		return nil, err
	}
	p.config.QPS, p.config.UserAgent = -1, "slipway-faults"
	patient := rest.CopyConfig(p.config)
	p.config.Timeout = 10 * time.Second
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), kruisev1alpha1.AddToScheme(known), kruisev1beta1.AddToScheme(known), rolloutv1alpha1.AddToScheme(known), apiextensionsv1.AddToScheme(known)); err != nil {
		return nil, fmt.Errorf("registering API kinds: %w", err)
	}
	if p.api, err = client.New(p.config, client.Options{Scheme: known}); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if p.watches, err = client.NewWithWatch(patient, client.Options{Scheme: known}); err != nil {
		return nil, fmt.Errorf("making a client for watches: %w", err)
	}
	if p.token, err = ground.Install(ctx, repository, root, p.api); err != nil {
		return nil, err
	}
	for _, name := range []string{"kube-scheduler", "kube-controller-manager"} {
		p.keeper.Go(func() error {
			for pause(kept, time.Second) {
				if err := localcluster.Revive(kept, root, name); err != nil && kept.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	return p, nil
}

// close stops the cluster, and removes what it left unless that is kept.
func (p *plane) close(keep bool) error {
	p.stop()
	lost := p.keeper.Wait()
	if err := errors.Join(lost, localcluster.Down(p.root, keep, io.Discard)); err != nil {
		return fmt.Errorf("stopping the cluster in %s: %w", p.root, err)
	}
	if keep {
		return nil
	}
	if err := os.RemoveAll(p.root); err != nil {
		return fmt.Errorf("removing the cluster's directory: %w", err)
	}
	return nil
}

// read reads what the API server has written down since the last call.
func (p *plane) read() error {
	file, err := os.Open(localcluster.AuditLogPath(p.root))
	if err != nil {
		return fmt.Errorf("opening the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(p.log, io.SeekStart); err != nil {
		return fmt.Errorf("going on in the audit log: %w", err)
	}
	events, used, err := audit.ReadEvents(file)
	if err != nil {
		return err
	}
	p.log += used
	p.events = append(p.events, events...)
	return nil
}
