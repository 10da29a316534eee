// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// change is a scenario that changes one workload and waits until the change has arrived.
type change struct {
	scenario string
	// makes: the workload does not exist before.
	makes    bool
	replicas func(pods int) int
	way      way
	// unavailable is how many pods, or how many percent; empty for a change that is no release.
	unavailable string
}

func all(pods int) int { return pods }
func none(int) int     { return 0 }

var (
	releases = []change{
		{scenario: scenarioCreate, makes: true, replicas: all},
		{scenario: scenarioInPlace100, replicas: all, way: inPlace, unavailable: "100%"},
		{scenario: scenarioInPlace10, replicas: all, way: inPlace, unavailable: "10%"},
		{scenario: scenarioRecreate10, replicas: all, way: recreate, unavailable: "10%"},
		{scenario: scenarioScaleDown, replicas: none},
	}
	replacements = []change{
		{scenario: scenarioCreate, makes: true, replicas: all},
		{scenario: scenarioReplace10, replicas: all, way: recreate, unavailable: "10%"},
		{scenario: scenarioReplace100, replicas: all, way: recreate, unavailable: "100%"},
		{scenario: scenarioScaleDown, replicas: none},
	}
	// among are the releases that are done again with pods of others in the namespace.
	among = []change{
		{scenario: scenarioCrowdedCreate, makes: true, replicas: all},
		{scenario: scenarioCrowdedInPlace10, replicas: all, way: inPlace, unavailable: "10%"},
		{scenario: scenarioCrowdedRecreate10, replicas: all, way: recreate, unavailable: "10%"},
	}
)

// sizedRound measures everything that depends on a number of pods.
func (b *bench) sizedRound(ctx context.Context, pods int) error {
	if b.o.wants(scenarioCeiling) {
		b.ceiling(ctx, pods)
	}
	if b.o.wants(scenarioDeployment) {
		s := subject{name: controllerManager, pid: b.cluster.processes[controllerManager], agent: controllerManager}
		if err := b.changes(ctx, deployment{}, s, pods, replacements, func(string) bool { return true }); err != nil {
			return err
		}
	}
	if !b.o.wants(scenarioCreate, scenarioInPlace100, scenarioInPlace10, scenarioRecreate10, scenarioScaleDown, scenarioStartup) {
		return nil
	}
	// It starts only now: while the built-in controller is measured, nobody else reads along.
	m, err := b.startManager(ctx)
	if err != nil {
		return err
	}
	if b.o.wants(scenarioCreate, scenarioInPlace100, scenarioInPlace10, scenarioRecreate10, scenarioScaleDown) {
		if err := b.changes(ctx, kinds[b.o.kind], b.subject(m), pods, releases, func(name string) bool { return b.o.wants(name) }); err != nil {
			return err
		}
	}
	if b.o.wants(scenarioStartup) {
		return b.startup(ctx, m, pods)
	}
	return nil
}

// crowdedRound measures releases in a namespace that is full of pods of another owner. They come first, so that the
// manager's share in their coming counts for nothing.
func (b *bench) crowdedRound(ctx context.Context, pods int) error {
	if err := b.createForeign(ctx); err != nil {
		return err
	}
	m, err := b.startManager(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, calm); err != nil {
		return err
	}
	return b.changes(ctx, kinds[b.o.kind], b.subject(m), pods, among, func(string) bool { return true })
}

func (b *bench) subject(m *manager) subject {
	return subject{name: managerName, pid: m.pid, agent: b.o.userAgent, ended: m.ended}
}

// changes runs the changes of one workload one after the other, each from where the last one ended. The first makes
// it, wanted or not. What fails ends only these changes; the error is that of an interruption.
func (b *bench) changes(ctx context.Context, k kind, s subject, pods int, list []change, wanted func(scenario string) bool) error {
	key := client.ObjectKey{Namespace: b.namespace, Name: "release-" + b.o.kind}
	if k.name() == subjectDeployment {
		key.Name = "replace"
	}
	tag := 0
	for i, c := range list {
		if i > 0 && !wanted(c.scenario) {
			continue
		}
		if c.unavailable != "" {
			tag++
		}
		r := b.newRow(pods, k.name(), c.scenario)
		scenario := func() error { return b.change(ctx, r, k, s, key, c, tag) }
		if !wanted(c.scenario) {
			if err := scenario(); err != nil {
				return fmt.Errorf("preparing %d pods of a %s: %w", pods, k.name(), err)
			}
			continue
		}
		if !b.finish(r, scenario) {
			break
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return b.remove(ctx, k, key)
}

// change measures one change, and checks that it is what it claims to be.
func (b *bench) change(ctx context.Context, r *row, k kind, s subject, key client.ObjectKey, c change, tag int) error {
	before, err := b.pods(ctx, key.Name)
	if err != nil {
		return err
	}
	want := c.replicas(r.Pods)
	err = b.measured(ctx, r, s, func(ctx context.Context) error {
		if err := b.ask(ctx, k, key, c, r.Pods, image(tag)); err != nil {
			return err
		}
		if err := b.await(ctx, k, key); err != nil {
			return err
		}
		if want > 0 {
			return nil
		}
		return b.awaitNoPods(ctx, key.Name)
	})
	if err != nil {
		return err
	}
	after, err := b.pods(ctx, key.Name)
	if err != nil {
		return err
	}
	return check(r, c, before, after, want, image(tag))
}

// ask makes the workload or changes it.
func (b *bench) ask(ctx context.Context, k kind, key client.ObjectKey, c change, pods int, image string) error {
	if c.makes {
		if err := b.cluster.api.Create(ctx, k.fresh(key, pods)); err != nil {
			return fmt.Errorf("creating %s %s: %w", k.name(), key.Name, err)
		}
		return nil
	}
	o := k.fresh(key, 0)
	if err := b.cluster.api.Get(ctx, key, o); err != nil {
		return fmt.Errorf("reading %s %s: %w", k.name(), key.Name, err)
	}
	before := o.DeepCopyObject().(client.Object)
	k.scale(o, c.replicas(pods))
	if c.unavailable != "" {
		k.release(o, image, c.way, intstr.Parse(c.unavailable))
	}
	if err := b.cluster.api.Patch(ctx, o, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("changing %s %s: %w", k.name(), key.Name, err)
	}
	return nil
}

// await watches the workload until its status says that it has settled.
func (b *bench) await(ctx context.Context, k kind, key client.ObjectKey) error {
	var last client.Object
	for {
		seen, err := b.cluster.api.Watch(ctx, k.list(), client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name})
		if err == nil {
			for event := range seen.ResultChan() {
				o, isObject := event.Object.(client.Object)
				if !isObject {
					break // an error of the watch: begin it anew
				}
				if event.Type == watch.Deleted {
					seen.Stop()
					return fmt.Errorf("%s %s was deleted by somebody", k.name(), key.Name)
				}
				if last = o; k.settled(o) {
					seen.Stop()
					return nil
				}
			}
			seen.Stop()
		}
		if pauseErr := pause(ctx, time.Second); pauseErr != nil {
			return errors.Join(fmt.Errorf("waiting for %s %s, last seen with status %s: %w", k.name(), key.Name, statusOf(last), pauseErr), err)
		}
	}
}

// awaitNoPods waits until the last pod of a workload is gone, which no status tells.
func (b *bench) awaitNoPods(ctx context.Context, app string) error {
	options := metav1.ListOptions{LabelSelector: labelApp + "=" + app, Limit: 1}
	err := wait.PollUntilContextCancel(ctx, 2*lookEvery, true, func(ctx context.Context) (bool, error) {
		list, err := b.cluster.core.CoreV1().Pods(b.namespace).List(ctx, options)
		if err != nil {
			return false, err
		}
		return len(list.Items) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the pods of %s are gone: %w", app, err)
	}
	return nil
}

func (b *bench) pods(ctx context.Context, app string) ([]corev1.Pod, error) {
	return b.podsWhere(ctx, labelApp+"="+app)
}

// podsWhere are the pods that a selector matches; those of the ceiling are gone.
func (b *bench) podsWhere(ctx context.Context, selector string) ([]corev1.Pod, error) {
	list, err := b.cluster.core.CoreV1().Pods(b.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	return list.Items, nil
}

// remove deletes the workload and waits until its pods are gone.
func (b *bench) remove(ctx context.Context, k kind, key client.ObjectKey) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.o.patience, errors.New("removing it takes longer than --patience"))
	defer cancel()
	if err := b.cluster.api.Delete(ctx, k.fresh(key, 0), client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s %s: %w", k.name(), key.Name, err)
	}
	return b.awaitNoPods(ctx, key.Name)
}

// check compares the pods before and after a change with what the change claims, and notes how many were kept.
func check(r *row, c change, before, after []corev1.Pod, want int, image string) error {
	known := map[types.UID]bool{}
	for i := range before {
		known[before[i].UID] = true
	}
	living, same := 0, 0
	for i := range after {
		pod := &after[i]
		if pod.DeletionTimestamp != nil {
			continue // on its way out, which nobody has to wait for
		}
		living++
		if known[pod.UID] {
			same++
		}
		if have := pod.Spec.Containers[0].Image; have != image {
			return fmt.Errorf("the status said that all is done, but pod %s has image %s, want %s", pod.Name, have, image)
		}
		if !ready(pod) {
			return fmt.Errorf("the status said that all is done, but pod %s is not ready", pod.Name)
		}
	}
	if living != want {
		return fmt.Errorf("the status said that all is done, but there are %d pods, want %d", living, want)
	}
	if c.unavailable == "" {
		return nil
	}
	r.set(keptPods, float64(same))
	switch {
	case c.way == inPlace && same < want:
		return fmt.Errorf("only %d of %d pods were released in place", same, want)
	case c.way == recreate && same > 0:
		return fmt.Errorf("%d of %d pods were not recreated", same, want)
	}
	return nil
}

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
