// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("traffic-component", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "path of a kubeconfig; empty inside a cluster")
	namespace := flags.String("namespace", "", "follow the InPlaceSets of this namespace only; empty for all")
	component := flags.String("component", "lb", "name of the component, as InPlaceSets declare it")
	delay := flags.Duration("delay", 5*time.Second, "how long connections get to end after a pod has left the backends")
	service := flags.String("service", "", "Service, without a selector, that gets the backends; empty for none")
	port := flags.Int("port", 8080, "port of the backends")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *delay < 0 {
		return errors.New("--delay cannot be negative")
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	c := &Component{
		clock: clock.RealClock{}, name: *component, delay: *delay, service: *service, port: int32(*port), left: map[types.UID]time.Time{},
	}
	fmt.Fprintf(os.Stderr, "component %s follows InPlaceSets; connections get %s to end\n", *component, *delay)
	return c.follow(ctx, config, *namespace)
}

// follow reconciles sets when they, their pods or their EndpointSlices change, until the context ends.
func (c *Component) follow(ctx context.Context, config *rest.Config, namespace string) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), discoveryv1.AddToScheme(scheme), cafev1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("registering kinds: %w", err)
	}
	options := ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}}
	if namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return fmt.Errorf("setting up: %w", err)
	}
	c.client = mgr.GetClient()
	err = ctrl.NewControllerManagedBy(mgr).Named(c.name).For(&cafev1alpha1.InPlaceSet{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			if name, is := setOf(o); is {
				return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
			}
			return nil
		})).
		Owns(&discoveryv1.EndpointSlice{}, builder.MatchEveryOwner).
		Complete(c)
	if err != nil {
		return fmt.Errorf("setting up the controller: %w", err)
	}
	return mgr.Start(ctx)
}
