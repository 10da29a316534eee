// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/hook"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/outbound"
)

func setUpRolloutTrait(mgr ctrl.Manager, o *options, _ bool) error {
	kinds, err := readKinds(o.workloadKinds)
	if err != nil {
		return err
	}
	calls, err := outbound.New(outbound.Options{AllowHosts: o.allowHosts, UserAgent: mgr.GetConfig().UserAgent, Clock: clock.RealClock{}})
	if err != nil {
		return fmt.Errorf("--allow-hosts: %w", err)
	}
	held, err := newHeld(mgr, o)
	if err != nil {
		return err
	}
	logger := mgr.GetLogger().WithName("errands")
	reconciler, err := rollout.New(rollout.Traits{}, rollout.Dependencies{
		Cache:  mgr.GetCache(),
		Live:   mgr.GetAPIReader(),
		Client: mgr.GetClient(),
		Events: mgr.GetEventRecorder("slipway"),
		Clock:  clock.RealClock{},
		Writes: newTracker(mgr, o),
		Apply:  o.apply(),
		Kinds:  &adapter.Adapters{Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Registry: kinds},
		Errands: rollout.Errands{
			Hooks:   errand.NewDesk[hook.Answer](clock.RealClock{}, logger, nil),
			Metrics: errand.NewDesk[measure.Sample](clock.RealClock{}, logger, calls.Close),
			Client:  calls,
		},
		Registry: metrics.Registry,
	})
	if err != nil {
		return err //nolint:wrapcheck // it says what was done
	}
	return reconciler.SetupWithManager(mgr, rollout.Options{Concurrency: o.concurrency, Held: held})
}

// readKinds are the kinds that can be rolled out: those that are known, and those that the file tells of.
func readKinds(file string) (adapter.Registry, error) {
	var declared []adapter.Declaration
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return adapter.Registry{}, fmt.Errorf("--workload-kinds: %w", err)
		}
		if declared, err = adapter.Parse(text); err != nil {
			return adapter.Registry{}, fmt.Errorf("--workload-kinds: %s: %w", file, err)
		}
	}
	kinds, err := adapter.NewRegistry(declared...)
	if err != nil {
		return adapter.Registry{}, fmt.Errorf("--workload-kinds: %s: %w", file, err)
	}
	return kinds, nil
}

// newHeld is a cache of what rollouts hold, and of nothing else: the server leaves the rest out.
func newHeld(mgr ctrl.Manager, o *options) (cache.Cache, error) {
	held, err := cluster.New(mgr.GetConfig(), func(c *cluster.Options) {
		c.Scheme = mgr.GetScheme()
		c.Logger = mgr.GetLogger()
		c.HTTPClient = mgr.GetHTTPClient()
		c.Cache = cache.Options{
			DefaultNamespaces:    namespaces(o.watchNamespaces),
			DefaultLabelSelector: labels.SelectorFromSet(labels.Set{rolloutv1alpha1.LabelHeld: "true"}),
			DefaultTransform:     keepAppliers,
		}
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache of workloads that rollouts hold: %w", err)
	}
	if err := mgr.Add(held); err != nil {
		return nil, fmt.Errorf("adding the cache of workloads that rollouts hold: %w", err)
	}
	return held.GetCache(), nil
}
