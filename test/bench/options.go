// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// What --scenarios may name. A release's scenario says by its number how many pods may be unavailable, in percent.
const (
	scenarioCeiling    = "ceiling"
	scenarioDeployment = "deployment"
	scenarioCreate     = "create"
	scenarioInPlace100 = "inplace-100"
	scenarioInPlace10  = "inplace-10"
	scenarioRecreate10 = "recreate-10"
	scenarioScaleDown  = "scale-0"
	scenarioStartup    = "startup"
	scenarioRest       = "rest"
	scenarioForeign    = "foreign"
	scenarioCrowded    = "crowded"

	// Those of CafeDeployments.
	scenarioFleetCreate  = "fleet-create"
	scenarioFleetRelease = "fleet-release"
	scenarioFleetRest    = "fleet-rest"

	// Those of RolloutTraits.
	scenarioRollouts     = "rollouts"
	scenarioRolloutsRest = "rollouts-rest"

	// Rows of the Deployment controller, all chosen by scenarioDeployment.
	scenarioReplace10  = "replace-10"
	scenarioReplace100 = "replace-100"

	// Rows of releases among pods of other owners, all chosen by scenarioCrowded.
	scenarioCrowdedCreate     = "crowded-create"
	scenarioCrowdedInPlace10  = "crowded-inplace-10"
	scenarioCrowdedRecreate10 = "crowded-recreate-10"
)

// noProgram is the value of --manager that starts none.
const noProgram = "none"

var scenarioNames = []string{
	scenarioCeiling, scenarioDeployment, scenarioCreate, scenarioInPlace100, scenarioInPlace10, scenarioRecreate10,
	scenarioScaleDown, scenarioStartup, scenarioRest, scenarioForeign, scenarioCrowded,
}

// These kinds are measured many at once.
const (
	kindCafe    = "cafedeployment"
	kindRollout = "rollouttrait"
)

var (
	fleetNames    = []string{scenarioCeiling, scenarioFleetCreate, scenarioFleetRelease, scenarioFleetRest}
	rolloutsNames = []string{scenarioCeiling, scenarioRollouts, scenarioRolloutsRest}
)

// scenariosOf are the scenarios that a kind has.
func scenariosOf(kind string) []string {
	switch kind {
	case kindCafe:
		return fleetNames
	case kindRollout:
		return rolloutsNames
	}
	return scenarioNames
}

// options are what the flags say.
type options struct {
	pods      []int
	runs      int
	kind      string
	scenarios []string
	out       string

	kubeconfig           string
	auditLog             string
	managerPID           int
	controllerManagerPID int
	userAgent            string
	managerProgram       string
	managerArgs          []string

	foreignPods int
	restSets    int
	restPods    int
	restFor     time.Duration
	setPods     int

	fleet     int
	units     int
	unitPods  int
	batchSize int
	podSets   string

	rollouts    int
	rolloutPods int
	batches     int

	workers     int
	ceilingPods int
	nodeDelay   time.Duration
	patience    time.Duration
}

func defaultOptions() *options {
	return &options{
		pods:        []int{500, 2000, 5000},
		runs:        1,
		kind:        "cloneset",
		out:         ".local/bench.json",
		userAgent:   "slipway-manager",
		foreignPods: 20000,
		restSets:    100,
		restPods:    50,
		restFor:     30 * time.Second,
		setPods:     50,
		fleet:       50,
		units:       5,
		unitPods:    20,
		batchSize:   20,
		podSets:     string(cafev1alpha1.InPlaceSetPodSetType),
		rollouts:    1000,
		rolloutPods: 5,
		batches:     3,
		workers:     16,
		ceilingPods: 1000,
		patience:    15 * time.Minute,
	}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.IntSliceVar(&o.pods, "pods", o.pods, "how many pods are released; may be repeated")
	flags.IntVar(&o.runs, "runs", o.runs, "how often everything is measured; the table shows the median")
	flags.StringVar(&o.kind, "kind", o.kind, "kind of workload: "+strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	flags.StringSliceVar(&o.scenarios, "scenarios", o.scenarios,
		"what is measured; all that the kind has when empty: "+strings.Join(scenarioNames, ", ")+"; of a cafedeployment "+strings.Join(fleetNames, ", ")+
			"; of a rollouttrait "+strings.Join(rolloutsNames, ", "))
	flags.StringVar(&o.out, "out", o.out, "file for all figures as JSON, rewritten after each round; empty: none")

	flags.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"use this cluster and not one of the bench's own; without an audit log (below) there are no counts of requests")
	flags.StringVar(&o.auditLog, "audit-log", o.auditLog,
		"audit log of that cluster on this machine; that of the repository's local cluster is found without")
	flags.IntVar(&o.managerPID, "manager-pid", o.managerPID,
		"measure this process, which you started and which serves the API of the kind; 0: the bench starts the manager")
	flags.IntVar(&o.controllerManagerPID, "controller-manager-pid", o.controllerManagerPID,
		"kube-controller-manager of that cluster; that of a local cluster is found without")
	flags.StringVar(&o.userAgent, "user-agent", o.userAgent, "how the user agent of the manager's requests begins")
	flags.StringVar(&o.managerProgram, "manager", o.managerProgram,
		"program to start as the manager; empty: bin/slipway-manager; none: the cluster has one, whose process cannot be seen from here")
	flags.StringArrayVar(&o.managerArgs, "manager-arg", o.managerArgs, "further argument for the manager that the bench starts; may be repeated")

	flags.IntVar(&o.foreignPods, "foreign-pods", o.foreignPods, "pods of other owners, for the memory that they add and for releases among them")
	flags.IntVar(&o.restSets, "rest-sets", o.restSets, "sets that exist while nothing is asked of the manager")
	flags.IntVar(&o.restPods, "rest-pods", o.restPods, "pods in each of these sets")
	flags.DurationVar(&o.restFor, "rest-for", o.restFor, "how long the manager is watched at rest")
	flags.IntVar(&o.setPods, "set-pods", o.setPods, "pods per set when the manager is started on existing pods")

	flags.IntVar(&o.fleet, "fleet", o.fleet, "CafeDeployments that are created and released at once")
	flags.IntVar(&o.units, "units", o.units, "units of each of them")
	flags.IntVar(&o.unitPods, "unit-pods", o.unitPods, "pods in each unit")
	flags.IntVar(&o.batchSize, "batch-size", o.batchSize, "pods in a group of a CafeDeployment; at least one for each unit")
	flags.StringVar(&o.podSets, "pod-sets", o.podSets, fmt.Sprintf("what keeps the pods of a unit: %q", podSetTypes))

	flags.IntVar(&o.rollouts, "rollouts", o.rollouts, "RolloutTraits that run at once, each on a CloneSet of its own")
	flags.IntVar(&o.rolloutPods, "rollout-pods", o.rolloutPods, "pods in each of these sets")
	flags.IntVar(&o.batches, "batches", o.batches, "equal batches of each of these rollouts")

	flags.IntVar(&o.workers, "workers", o.workers, "parallel requests of the plain client that finds the machine's ceiling")
	flags.IntVar(&o.ceilingPods, "ceiling-pods", o.ceilingPods, "pods that the plain client creates, patches and deletes")
	flags.DurationVar(&o.nodeDelay, "node-delay", o.nodeDelay, "how long simulated nodes take to start or restart a container")
	flags.DurationVar(&o.patience, "patience", o.patience, "how long one scenario may take")
}

// validate reports everything that is wrong at once.
func (o *options) validate() error {
	var errs []error
	wrong := func(condition bool, format string, args ...any) {
		if condition {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(len(o.pods) == 0, "--pods is empty")
	for _, n := range o.pods {
		wrong(n < 1, "--pods is %d, it must be at least 1", n)
	}
	_, known := kinds[o.kind]
	wrong(!known, "--kind is %q, there are: %s", o.kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	for _, name := range o.scenarios {
		there := scenariosOf(o.kind)
		wrong(!slices.Contains(there, name), "--scenarios names %q, of a %s there are: %s", name, o.kind, strings.Join(there, ", "))
	}
	wrong(!slices.Contains(podSetTypes, cafev1alpha1.PodSetType(o.podSets)), "--pod-sets is %q, there are: %q", o.podSets, podSetTypes)
	wrong(o.batchSize < o.units, "--batch-size is %d, it must be at least --units, since the first group has a pod in each unit", o.batchSize)
	wrong(o.batches > o.rolloutPods, "--batches is %d, it must be at most --rollout-pods, so that each batch has a pod", o.batches)
	for name, n := range map[string]int{
		"runs": o.runs, "foreign-pods": o.foreignPods, "rest-sets": o.restSets, "rest-pods": o.restPods, "set-pods": o.setPods,
		"fleet": o.fleet, "units": o.units, "unit-pods": o.unitPods, "rollouts": o.rollouts, "rollout-pods": o.rolloutPods, "batches": o.batches,
		"workers": o.workers, "ceiling-pods": o.ceilingPods,
	} {
		wrong(n < 1, "--%s is %d, it must be at least 1", name, n)
	}
	wrong(o.restFor <= 0, "--rest-for is %s, it must be more than 0", o.restFor)
	wrong(o.patience <= 0, "--patience is %s, it must be more than 0", o.patience)
	wrong(o.nodeDelay < 0, "--node-delay is %s, it must not be negative", o.nodeDelay)
	wrong(o.userAgent == "", "--user-agent is empty: every request would count as the manager's")
	wrong(o.managerPID < 0, "--manager-pid is %d, which is no process", o.managerPID)
	wrong(o.managerPID != 0 && o.kubeconfig == "", "--manager-pid needs --kubeconfig: the manager that you started is of a cluster that is there already")
	wrong(o.managerProgram == noProgram && o.kubeconfig == "", "--manager=none needs --kubeconfig: a cluster of the bench's own has no manager")
	wrong(o.managerPID != 0 && o.managerProgram != "", "--manager and --manager-pid exclude each other")
	wrong(o.auditLog != "" && o.kubeconfig == "", "--audit-log needs --kubeconfig: the bench knows the log of its own cluster")
	wrong(o.controllerManagerPID != 0 && o.kubeconfig == "", "--controller-manager-pid needs --kubeconfig: the bench knows the processes of its own cluster")
	return errors.Join(errs...)
}

// absolute makes the paths absolute that the manager gets, which is started in another directory.
func (o *options) absolute() error {
	for _, path := range []*string{&o.kubeconfig, &o.managerProgram} {
		if *path == "" || *path == noProgram {
			continue
		}
		full, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("resolving %s: %w", *path, err)
		}
		*path = full
	}
	return nil
}

// foreignManager says that somebody else started the manager.
func (o *options) foreignManager() bool { return o.managerPID != 0 || o.managerProgram == noProgram }

func (o *options) wants(scenarios ...string) bool {
	chosen := o.scenarios
	if len(chosen) == 0 {
		chosen = scenariosOf(o.kind)
	}
	return slices.ContainsFunc(scenarios, func(name string) bool { return slices.Contains(chosen, name) })
}

// fleetOf is the fleet that the flags ask for.
func (o *options) fleetOf() fleet {
	k := cafeDeployment{sets: cafev1alpha1.PodSetType(o.podSets), units: cells(o.units), batch: o.batchSize}
	return fleet{kind: k, size: o.fleet, pods: o.units * o.unitPods}
}

// rolloutsOf are the rollouts that the flags ask for.
func (o *options) rolloutsOf() rollouts {
	return rollouts{kind: rolloutTrait{batches: o.batches}, size: o.rollouts, pods: o.rolloutPods}
}
