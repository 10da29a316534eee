// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/freshness"
)

const (
	// leaseName is also the only lease that the RBAC role lets the manager change.
	leaseName = "slipway-manager"
	// installedNamespace is where config/ installs the manager.
	installedNamespace = "slipway-system"
	// podNamespaceFile tells a pod its own namespace.
	podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// options are what the flags say.
type options struct {
	kubeconfig      string
	watchNamespaces []string
	controllers     []string
	concurrency     int
	// definitionNamespace has definitions for all applications, and revisionLimit is how many of their revisions are kept.
	definitionNamespace string
	revisionLimit       int
	writeConcurrency    int
	keepManagers        bool
	freshnessTimeout    time.Duration
	allowHosts          []string
	workloadKinds       string

	leaderElect    bool
	leaseNamespace string
	leaseName      string
	leaseDuration  time.Duration
	renewDeadline  time.Duration
	retryPeriod    time.Duration

	metricsAddress string
	healthAddress  string
	pprofAddress   string
	logFormat      string
	logLevel       string

	// held is no option: see heldWorkloads.
	held cache.Cache
}

func defaultOptions() *options {
	return &options{
		controllers: []string{"*"},
		concurrency: 10,

		definitionNamespace: oamv1beta1.SystemNamespace,
		revisionLimit:       10,
		writeConcurrency:    apply.DefaultConcurrency,
		freshnessTimeout:    freshness.DefaultTimeout,
		leaderElect:         true,
		leaseName:           leaseName,
		leaseDuration:       15 * time.Second,
		renewDeadline:       10 * time.Second,
		retryPeriod:         2 * time.Second,
		metricsAddress:      ":8080",
		healthAddress:       ":8081",
		pprofAddress:        "0",
		logFormat:           "text",
		logLevel:            "info",
	}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"file that says how to reach the cluster; empty means $KUBECONFIG, ~/.kube/config, or the cluster that the manager runs in")
	flags.StringSliceVar(&o.watchNamespaces, "watch-namespaces", o.watchNamespaces,
		"namespaces to work in; empty means all")
	flags.StringSliceVar(&o.controllers, "controllers", o.controllers,
		fmt.Sprintf("controllers to run: '*' for all, 'name' for that one, '-name' for all but that one; there are: %s", strings.Join(controllerNames(), ", ")))
	flags.IntVar(&o.concurrency, "concurrency", o.concurrency,
		"how many objects of one kind are worked on in parallel")
	flags.IntVar(&o.writeConcurrency, "write-concurrency", o.writeConcurrency,
		"how many writes run in parallel for one object")
	flags.BoolVar(&o.keepManagers, "keep-managed-fields", o.keepManagers,
		"keep metadata.managedFields of pods that are updated in place; else only those of pods that somebody applies on the server's side are kept")
	flags.DurationVar(&o.freshnessTimeout, "freshness-timeout", o.freshnessTimeout,
		"how long a write of ours that the cache does not show may hold up its object, although the API server confirms it")

	flags.StringSliceVar(&o.allowHosts, "allow-hosts", o.allowHosts,
		"the only hosts that webhooks and metrics of rollouts may be on: names, '*.example.com', addresses, each with a port or without; empty means all but link-local ones")
	flags.StringVar(&o.definitionNamespace, "definition-namespace", o.definitionNamespace,
		"namespace of the definitions that an application's own namespace does not have")
	flags.IntVar(&o.revisionLimit, "application-revision-limit", o.revisionLimit,
		"revisions of an application that are kept although nothing uses them")
	flags.StringVar(&o.workloadKinds, "workload-kinds", o.workloadKinds,
		"file that tells how workloads of other kinds are rolled out; empty means none besides those whose definitions tell it")

	flags.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect,
		"work only while holding a lease, so that several managers may run")
	flags.StringVar(&o.leaseNamespace, "leader-election-namespace", o.leaseNamespace,
		"namespace of the lease; empty means the manager's own, or "+installedNamespace+" outside a cluster")
	flags.StringVar(&o.leaseName, "leader-election-id", o.leaseName,
		"name of the lease")
	flags.DurationVar(&o.leaseDuration, "leader-election-lease-duration", o.leaseDuration,
		"how long the others wait after the last sign of a leader that did not end in order")
	flags.DurationVar(&o.renewDeadline, "leader-election-renew-deadline", o.renewDeadline,
		"how long a leader tries to renew its lease before it gives up and ends")
	flags.DurationVar(&o.retryPeriod, "leader-election-retry-period", o.retryPeriod,
		"time between two tries to take or renew the lease")

	flags.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress,
		"address of the metrics endpoint, /metrics; 0 turns it off")
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", o.healthAddress,
		"address of the probes, /healthz and /readyz; 0 turns them off")
	flags.StringVar(&o.pprofAddress, "pprof-bind-address", o.pprofAddress,
		"address of Go's profiles, /debug/pprof; 0 turns them off. They tell about the memory of the program: bind to 127.0.0.1")
	flags.StringVar(&o.logFormat, "log-format", o.logFormat, "text or json")
	flags.StringVar(&o.logLevel, "log-level", o.logLevel, "error, warn, info or debug")
}

// apply are the settings of what writes.
func (o *options) apply() apply.Options {
	return apply.Options{Concurrency: o.writeConcurrency, KeepFieldManagers: o.keepManagers}
}

// complete fills in what depends on the surroundings, and returns the names of the controllers to run.
// It reports everything that is wrong at once.
func (o *options) complete() ([]string, error) {
	enabled, err := enabledControllers(o.controllers)
	errs := []error{err}
	wrong := func(condition bool, format string, args ...any) {
		if condition {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(o.revisionLimit < 0, "--application-revision-limit is %d, it must not be negative", o.revisionLimit)
	wrong(o.definitionNamespace == "", "--definition-namespace is empty: name a namespace")
	wrong(o.concurrency < 1, "--concurrency is %d, it must be at least 1", o.concurrency)
	wrong(o.writeConcurrency < 1, "--write-concurrency is %d, it must be at least 1", o.writeConcurrency)
	wrong(o.freshnessTimeout <= 0, "--freshness-timeout is %s, it must be more than 0", o.freshnessTimeout)
	wrong(slices.Contains(o.watchNamespaces, ""), "--watch-namespaces has an empty name")
	if o.leaderElect {
		wrong(o.leaseName == "", "--leader-election-id must not be empty")
		wrong(o.retryPeriod <= 0, "--leader-election-retry-period is %s, it must be more than 0", o.retryPeriod)
		// The election waits up to 1.2 retry periods between two tries.
		wrong(o.renewDeadline <= o.retryPeriod*12/10,
			"--leader-election-renew-deadline is %s, it must be more than 1.2 times the retry period of %s", o.renewDeadline, o.retryPeriod)
		wrong(o.leaseDuration <= o.renewDeadline,
			"--leader-election-lease-duration is %s, it must be more than the renew deadline of %s", o.leaseDuration, o.renewDeadline)
	}
	wrong(o.logFormat != "text" && o.logFormat != "json", "--log-format is %q, it must be text or json", o.logFormat)
	_, err = o.level()
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}

	if o.leaseNamespace == "" {
		o.leaseNamespace = ownNamespace(podNamespaceFile)
	}
	return enabled, nil
}

// enabledControllers reads a list of names, '*' and '-name'. The result is in the order in which they start.
func enabledControllers(list []string) ([]string, error) {
	known := controllerNames()
	named, left := sets.New[string](), sets.New[string]()
	var errs []error
	for _, entry := range list {
		name, off := strings.CutPrefix(entry, "-")
		switch {
		case entry == "*":
			named.Insert(known...)
		case !slices.Contains(known, name):
			errs = append(errs, fmt.Errorf("--controllers names %q, there are: %s", entry, strings.Join(known, ", ")))
		case off:
			left.Insert(name)
		default:
			named.Insert(name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	enabled := slices.DeleteFunc(known, func(name string) bool { return !named.Has(name) || left.Has(name) })
	if len(enabled) == 0 {
		return nil, errors.New("--controllers leaves no controller to run")
	}
	return enabled, nil
}

// ownNamespace is the namespace that file names, or the usual one when there is no such file.
func ownNamespace(file string) string {
	data, err := os.ReadFile(file)
	if namespace := strings.TrimSpace(string(data)); err == nil && namespace != "" {
		return namespace
	}
	return installedNamespace
}

func (o *options) level() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return 0, fmt.Errorf("--log-level is %q, it must be error, warn, info or debug", o.logLevel)
	}
	return level, nil
}

// newLogger returns the program's logger; complete has checked its options.
func (o *options) newLogger(out io.Writer) logr.Logger {
	level, err := o.level()
	if err != nil {
		level = slog.LevelInfo
	}
	settings := &slog.HandlerOptions{Level: level}
	if o.logFormat == "json" {
		return logr.FromSlogHandler(slog.NewJSONHandler(out, settings))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(out, settings))
}
