// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// run runs the enabled controllers until ctx ends, which is no error, or the lease is lost, which is one.
func run(ctx context.Context, o *options, enabled []string, logger logr.Logger) error {
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	mgr, err := newManager(config, o, logger)
	if err != nil {
		return err
	}
	if err := setUp(ctx, mgr, o, enabled); err != nil {
		return err
	}
	logger.Info("Starting", "version", currentVersion(), "server", config.Host, "controllers", enabled)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

// managerName stands before the version in the user agent, and the API server takes it for the field manager of our writes.
const managerName = "slipway-manager"

// restConfig says how to reach the cluster: by the file, else as clients usually find it. Requests are not throttled
// on this side: what runs in parallel is bounded, and the API server's own fairness does the rest.
func restConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	config.QPS = -1
	config.UserAgent = managerName + "/" + currentVersion()
	return config, nil
}

// newManager returns a manager with health checks and without controllers. Kinds that Kubernetes itself serves travel as
// protobuf: controller-runtime chooses so for every type that has it.
func newManager(config *rest.Config, o *options, logger logr.Logger) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	var election *rest.Config
	if o.leaderElect {
		election = (&lease{clock: clock.RealClock{}, lasts: o.renewDeadline}).fence(config)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Logger: logger,
		Cache: cache.Options{
			DefaultNamespaces: namespaces(o.watchNamespaces),
			ByObject:          byObject(o),
			DefaultTransform:  keepAppliers,
			NewInformer:       newInformer,
		},
		NewClient:                     newClient,
		Metrics:                       metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:        o.healthAddress,
		PprofBindAddress:              o.pprofAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionConfig:          election,
		LeaderElectionNamespace:       o.leaseNamespace,
		LeaderElectionID:              o.leaseName,
		LeaseDuration:                 &o.leaseDuration,
		RenewDeadline:                 &o.renewDeadline,
		RetryPeriod:                   &o.retryPeriod,
		LeaderElectionReleaseOnCancel: true, // no write leaves without it: see lease
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	ready := &cacheReady{}
	err = errors.Join(
		mgr.Add(ready),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("cache", ready.check),
	)
	if err != nil {
		return nil, fmt.Errorf("adding health checks: %w", err)
	}
	return mgr, nil
}

// byObject are the kinds that are cached in a way of their own. Built-in sets that no CafeDeployment keeps are left out: in most
// clusters that is all of them. Definitions for all applications are seen also from a manager that works in some namespaces only.
func byObject(o *options) map[client.Object]cache.ByObject {
	hasUnit := labels.NewSelector()
	if unit, err := labels.NewRequirement(cafev1alpha1.LabelUnit, selection.Exists, nil); err == nil { // a constant that is valid
		hasUnit = hasUnit.Add(*unit)
	}
	defined := namespaces(o.watchNamespaces)
	if defined != nil {
		defined[o.definitionNamespace] = cache.Config{}
	}
	return map[client.Object]cache.ByObject{
		&appsv1.ReplicaSet{}: {Label: hasUnit}, &appsv1.StatefulSet{}: {Label: hasUnit},
		&oamv1beta1.ComponentDefinition{}: {Namespaces: defined}, &oamv1beta1.TraitDefinition{}: {Namespaces: defined},
	}
}

// keepAppliers leaves of an object's field managers the names of those that apply it on the server's side, which are
// few and mostly none. Nobody here reads the rest, and it is often half of an object.
func keepAppliers(stored any) (any, error) {
	object, err := meta.Accessor(stored)
	if err != nil {
		return stored, nil //nolint:nilerr // a tombstone of the cache has no fields to strip
	}
	var appliers []metav1.ManagedFieldsEntry
	for _, e := range object.GetManagedFields() {
		if e.Operation == metav1.ManagedFieldsOperationApply {
			appliers = append(appliers, metav1.ManagedFieldsEntry{Manager: e.Manager, Operation: e.Operation})
		}
	}
	object.SetManagedFields(appliers)
	return stored, nil
}

// newClient does not have the server look for fields that it does not know: what we write is made from its own types, and
// the search is a good part of what a patch costs the server.
func newClient(config *rest.Config, options client.Options) (client.Client, error) {
	c, err := client.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationIgnore), nil
}

// newScheme knows the built-in kinds and ours.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), cafev1alpha1.AddToScheme(scheme), kruisev1alpha1.AddToScheme(scheme), kruisev1beta1.AddToScheme(scheme),
		rolloutv1alpha1.AddToScheme(scheme), oamv1beta1.AddToScheme(scheme))
	if err != nil {
		return nil, fmt.Errorf("registering API kinds: %w", err)
	}
	return scheme, nil
}

// namespaces is nil for an empty list: everything is watched.
func namespaces(list []string) map[string]cache.Config {
	if len(list) == 0 {
		return nil
	}
	chosen := make(map[string]cache.Config, len(list))
	for _, namespace := range list {
		chosen[namespace] = cache.Config{}
	}
	return chosen
}

// cacheReady is ready when the caches are filled. A manager that waits for its turn to lead is ready as well:
// it can take over at once.
type cacheReady struct{ filled atomic.Bool }

// Start is called when the caches are filled.
func (c *cacheReady) Start(context.Context) error {
	c.filled.Store(true)
	return nil
}

// NeedLeaderElection keeps it apart from what only the leader runs.
func (*cacheReady) NeedLeaderElection() bool { return false }

func (c *cacheReady) check(*http.Request) error {
	if !c.filled.Load() {
		return errors.New("the caches are being filled")
	}
	return nil
}
