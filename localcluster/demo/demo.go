// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/live"
	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/localcluster/nodes"
)

// Options say what is shown and where.
type Options struct {
	// Root is the repository's root directory.
	Root string
	// Kubeconfig of the user's own cluster; empty: the local cluster, which is started if it does not run.
	Kubeconfig string
	// Scenario is one of Scenarios.
	Scenario string
	// Keep leaves everything running at the end.
	Keep bool
	// Out is where the story is told; a terminal gets live pictures.
	Out io.Writer
	// Getenv reads an environment variable.
	Getenv func(string) string
}

// ErrBroken says that the demo ran to its end, and that Slipway did not keep a promise.
var ErrBroken = errors.New("a promise was broken")

// play is one scenario; it returns the promises that were broken.
type play func(context.Context, *stage) ([]string, error)

// subjects are what is released, by the name of the scenario.
func subjects() map[string]subject {
	return map[string]subject{DefaultScenario: cloneSet(), "statefulset": statefulSet()}
}

// scenario is a play, and what it needs.
type scenario struct {
	play play
	// nodes are those of the local cluster; nil leaves them as they are.
	nodes *nodes.Settings
	// local says why it is played on the local cluster only; empty when it is not.
	local string
	// hint tells how to go on by hand: the words for the kind that the CLI and kubectl know, the name, and where the image stands; empty
	// for where a pod template has it.
	command, resource, name, at string
}

func scenarios() map[string]scenario {
	all := map[string]scenario{"application": applications(), "cells": cells(), "rollout": rollouts()}
	for name, of := range subjects() {
		all[name] = scenario{play: inPlace(of), command: of.command, resource: of.command + "s.apps.kruise.io", name: of.key().Name}
	}
	return all
}

// DefaultScenario is the one to begin with.
const DefaultScenario = "inplace"

// Scenarios are the names that Options.Scenario may have.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios())) }

// stage is where a scenario is played.
type stage struct {
	narrator
	client client.WithWatch
	// audit is the path of the audit log, empty if it is not at hand.
	audit      string
	kubeconfig string
	root       string
	// ours says that the cluster is the local one; managed that this program started the manager.
	ours, managed bool
}

// Run plays the scenario and returns when it is over. The error is ErrBroken when a promise was not kept.
func Run(ctx context.Context, o Options) error {
	chosen, found := scenarios()[o.Scenario]
	if !found {
		return fmt.Errorf("there is no scenario %q, only: %s", o.Scenario, strings.Join(Scenarios(), ", "))
	}
	begin := time.Now()
	s := &stage{narrator: narrator{terminal: live.Detect(o.Out, o.Getenv)}, root: o.Root}
	if err := s.setUp(ctx, o, chosen); err != nil {
		return err
	}
	broken, err := chosen.play(ctx, s)
	if ctx.Err() != nil {
		return errors.New("interrupted; what runs stays up: `make demo` starts afresh, `make down` ends it")
	}
	if err != nil {
		return err
	}
	s.begin("The end, after %.0f seconds", time.Since(begin).Seconds())
	for _, promise := range broken {
		s.say("BROKEN: %s", promise)
	}
	if len(broken) == 0 {
		s.say("Every promise was kept.")
	}
	if o.Keep {
		s.next(chosen)
	} else if err := s.tearDown(ctx); err != nil {
		return err
	}
	if len(broken) > 0 {
		return fmt.Errorf("%w: %s", ErrBroken, strings.Join(broken, "; "))
	}
	return nil
}

func (s *stage) setUp(ctx context.Context, o Options, chosen scenario) error {
	if err := s.reach(ctx, o, chosen); err != nil {
		return err
	}
	s.begin("Slipway")
	if err := installAPI(ctx, s.client, filepath.Join(s.root, "config", "install.yaml")); err != nil {
		return err
	}
	if err := installDefinitions(ctx, s.client, filepath.Join(s.root, "config", "definitions.yaml")); err != nil {
		return err
	}
	s.say("the API is installed: CloneSets and StatefulSets of apps.kruise.io, InPlaceSets and CafeDeployments of apps.cafe.cloud.alipay.com,")
	s.say("RolloutTraits and MetricTemplates of standard.oam.dev, Applications, AppRollouts and their definitions of core.oam.dev")
	running, err := deployed(ctx, s.client)
	if err != nil {
		return err
	}
	if running {
		s.say("the cluster runs its own manager")
		return nil
	}
	if err := startManager(ctx, s.root, s.kubeconfig); err != nil {
		return err
	}
	s.managed = true
	pid, err := localcluster.CompanionPID(s.root, managerName)
	if err != nil {
		return err
	}
	s.say("the manager runs on this machine: process %d, log %s", pid, s.short(localcluster.CompanionLog(s.root, managerName)))
	return nil
}

// reach finds or starts the cluster.
func (s *stage) reach(ctx context.Context, o Options, chosen scenario) (err error) {
	local := localcluster.KubeconfigPath(s.root)
	s.begin("A cluster")
	if s.kubeconfig, s.ours = o.Kubeconfig, o.Kubeconfig == ""; !s.ours {
		given, err := filepath.Abs(o.Kubeconfig)
		if err != nil {
			return fmt.Errorf("resolving %s: %w", o.Kubeconfig, err)
		}
		s.kubeconfig, s.ours = given, given == local
	}
	if chosen.local != "" && !s.ours {
		return fmt.Errorf("this scenario is played on the local cluster only: %s", chosen.local)
	}
	if s.ours {
		s.kubeconfig = local
		if err := localcluster.Up(ctx, localcluster.Options{Root: s.root, Nodes: chosen.nodes, Out: s.aside()}); err != nil {
			return err
		}
		s.audit = localcluster.AuditLogPath(s.root)
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if !s.ours {
		s.say("yours: %s", config.Host)
	}
	s.client, err = newClient(config)
	return err
}

func newClient(config *rest.Config) (client.WithWatch, error) {
	kinds := scheme.Scheme
	if err := errors.Join(apiextensionsv1.AddToScheme(kinds), kruisev1alpha1.AddToScheme(kinds), kruisev1beta1.AddToScheme(kinds),
		cafev1alpha1.AddToScheme(kinds), rolloutv1alpha1.AddToScheme(kinds), oamv1beta1.AddToScheme(kinds)); err != nil {
		return nil, fmt.Errorf("registering kinds: %w", err)
	}
	config = rest.CopyConfig(config)
	config.UserAgent = fieldName
	config.QPS = -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: kinds})
	if err != nil {
		return nil, fmt.Errorf("preparing the client: %w", err)
	}
	return c, nil
}

func (s *stage) clock() clock.WithTicker { return clock.RealClock{} }

// next tells how to go on by hand.
func (s *stage) next(of scenario) {
	s.say("The cluster stays up. Look around:")
	s.say("")
	s.say("  export KUBECONFIG=%s", s.kubeconfig)
	s.say("  bin/slipway get %s %s -n %s -w", of.command, of.name, namespace)
	kubectl := "kubectl"
	if s.ours {
		kubectl = "bin/k8s/kubectl"
	}
	s.say("  %s -n %s get pods -o wide", kubectl, namespace)
	s.say("  %s -n %s patch %s %s --type=json -p '[{\"op\": \"replace\", \"path\": \"%s\", \"value\": \"%s1.27\"}]'",
		kubectl, namespace, of.resource, of.name, cmp.Or(of.at, "/spec/template/spec/containers/0/image"), image)
	s.say("")
	switch {
	case s.ours:
		s.say("`make down` ends it: the manager, the nodes and the control plane.")
	case s.managed:
		s.say("`kubectl delete namespace %s` removes the pods; `make down` stops the manager of this machine.", namespace)
	default:
		s.say("`kubectl delete namespace %s` removes the pods.", namespace)
	}
}

// tearDown undoes what the demo did; what is installed in the user's cluster stays, since other sets may need it.
func (s *stage) tearDown(ctx context.Context) error {
	if s.ours {
		return localcluster.Down(s.root, false, s.aside())
	}
	if err := removeSets(ctx, s.client); err != nil {
		return err
	}
	if s.managed {
		return localcluster.StopCompanion(s.root, managerName)
	}
	return nil
}

// short is a path as people in the repository's root would write it.
func (s *stage) short(path string) string {
	if relative, err := filepath.Rel(s.root, path); err == nil && !strings.HasPrefix(relative, "..") {
		return relative
	}
	return path
}
