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
	"slipway.dev/slipway/internal/application/rolling"
	"slipway.dev/slipway/internal/rollout"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/hook"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/outbound"
	"slipway.dev/slipway/internal/rollout/subject"
)

func setUpRolloutTrait(mgr ctrl.Manager, o *options, _ bool) error {
	return setUpRollout(mgr, o, func(*adapter.Adapters) subject.Kind { return subject.Traits{} })
}

func setUpAppRollout(mgr ctrl.Manager, o *options, _ bool) error {
	return setUpRollout(mgr, o, func(kinds *adapter.Adapters) subject.Kind {
		return rolling.AppRollouts{Live: mgr.GetAPIReader(), Kinds: kinds, Clock: clock.RealClock{}}
	})
}

// setUpRollout has the manager roll out what objects of a kind ask for, which needs to know the kinds of workloads.
func setUpRollout(mgr ctrl.Manager, o *options, kindOf func(*adapter.Adapters) subject.Kind) error {
	known, err := readKinds(o.workloadKinds)
	if err != nil {
		return err
	}
	calls, err := outbound.New(outbound.Options{AllowHosts: o.allowHosts, UserAgent: mgr.GetConfig().UserAgent, Clock: clock.RealClock{}})
	if err != nil {
		return fmt.Errorf("--allow-hosts: %w", err)
	}
	held, err := heldWorkloads(mgr, o)
	if err != nil {
		return err
	}
	kinds := &adapter.Adapters{Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Registry: known}
	logger := mgr.GetLogger().WithName("errands")
	reconciler, err := rollout.New(kindOf(kinds), rollout.Dependencies{
		Cache:  mgr.GetCache(),
		Live:   mgr.GetAPIReader(),
		Client: mgr.GetClient(),
		Events: mgr.GetEventRecorder("slipway"),
		Clock:  clock.RealClock{},
		Writes: newTracker(mgr, o),
		Apply:  o.apply(),
		Kinds:  kinds,
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

// heldWorkloads is the cache of the workloads that rollouts hold: one for all kinds of rollouts.
func heldWorkloads(mgr ctrl.Manager, o *options) (cache.Cache, error) {
	var err error
	if o.held == nil {
		o.held, err = newLabelled(mgr, o, labels.SelectorFromSet(labels.Set{rolloutv1alpha1.LabelHeld: "true"}))
	}
	return o.held, err
}

// newLabelled is a cache of what has certain labels, and of nothing else: the server leaves the rest out.
func newLabelled(mgr ctrl.Manager, o *options, selector labels.Selector) (cache.Cache, error) {
	labelled, err := cluster.New(mgr.GetConfig(), func(c *cluster.Options) {
		c.Scheme = mgr.GetScheme()
		c.Logger = mgr.GetLogger()
		c.HTTPClient = mgr.GetHTTPClient()
		c.Cache = cache.Options{
			DefaultNamespaces:    namespaces(o.watchNamespaces),
			DefaultLabelSelector: selector,
			DefaultTransform:     keepAppliers,
		}
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache of what has labels %s: %w", selector, err)
	}
	if err := mgr.Add(labelled); err != nil {
		return nil, fmt.Errorf("adding the cache of what has labels %s: %w", selector, err)
	}
	return labelled.GetCache(), nil
}
