// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// calm is how long a manager gets to become calm, before it is watched at rest or its memory is read.
const calm = 10 * time.Second

// populate makes sets of pods, and waits until all have settled.
func (b *bench) populate(ctx context.Context, m *manager, sets, pods int) error {
	ctx, leave := orEnded(ctx, m.ended)
	defer leave()
	ctx, cancel := context.WithTimeoutCause(ctx, b.o.patience, errors.New("it takes longer than --patience"))
	defer cancel()
	k := kinds[b.o.kind]
	b.say("  preparing %d pods in sets of %d", pods, (pods+sets-1)/sets)
	key := func(i int) client.ObjectKey {
		return client.ObjectKey{Namespace: b.namespace, Name: fmt.Sprintf("quiet-%d", i)}
	}
	err := parallel(ctx, b.o.workers, sets, func(ctx context.Context, i int) error {
		return b.cluster.api.Create(ctx, k.fresh(key(i), share(pods, sets, i)))
	})
	if err != nil {
		return fmt.Errorf("creating %d sets: %w", sets, err)
	}
	for i := range sets { // most have settled when the first one has
		if err := b.await(ctx, k, key(i)); err != nil {
			return err
		}
	}
	return pause(ctx, calm)
}

// share deals things out as evenly as it goes.
func share(things, hands, i int) int {
	n := things / hands
	if i < things%hands {
		n++
	}
	return n
}

// startup measures a manager that starts where pods already exist. It leaves these pods behind.
func (b *bench) startup(ctx context.Context, m *manager, pods int) error {
	sets := max(1, pods/b.o.setPods)
	if b.o.foreignManager() {
		b.remark("A manager that you started is not restarted: there is no scenario " + scenarioStartup + ".")
		return nil
	}
	if err := b.populate(ctx, m, sets, pods); err != nil {
		return err
	}
	r := b.newRow(pods, kinds[b.o.kind].name(), scenarioStartup)
	r.note("%d sets", sets)
	b.finish(r, func() error {
		m, err := b.restart(ctx, r, sets)
		if err == nil {
			r.set(rssMB, m.rss)
		}
		return err
	})
	return context.Cause(ctx)
}

// started is a manager some time after its start.
type started struct {
	*manager
	peak, rss, heap float64 // MB
}

// restart starts the manager afresh on what exists, and measures until it has looked at everything once. Memory is
// read when it has become calm.
func (b *bench) restart(ctx context.Context, r *row, sets int) (*started, error) {
	if err := b.stopManager(); err != nil {
		return nil, err
	}
	if err := pause(ctx, settle); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.o.patience, errors.New("it takes longer than --patience"))
	defer cancel()
	from, err := b.cluster.logEnd()
	if err != nil {
		return nil, err
	}
	before, err := b.versions(ctx)
	if err != nil {
		return nil, err
	}
	m, err := b.startManager(ctx)
	if err != nil {
		return nil, err
	}
	r.set(readySeconds, time.Since(m.began).Seconds())
	if err := m.await(ctx, "look at every set once", m.passed(kinds[b.o.kind].controller(), sets)); err != nil {
		return nil, err
	}
	r.set(firstPassSeconds, time.Since(m.began).Seconds())
	// All its CPU time and its whole high-water mark are of this start.
	if seconds, err := cpuSeconds(m.pid); err == nil {
		r.set(cpuTime, seconds)
	}
	s := &started{manager: m}
	if bytes, err := memory(m.pid, "VmHWM"); err == nil {
		s.peak = float64(bytes) / megabyte
		r.set(peakMB, s.peak)
	}
	if err := pause(ctx, calm); err != nil {
		return nil, err
	}
	after, err := b.versions(ctx)
	if err != nil {
		return nil, err
	}
	r.set(touchedPods, float64(touched(before, after)))
	if err := b.countRequests(ctx, r, b.subject(m), from); err != nil {
		return nil, err
	}
	return s, s.readMemory(ctx)
}

func (s *started) readMemory(ctx context.Context) error {
	bytes, err := memory(s.pid, "VmRSS")
	if err != nil {
		return err
	}
	s.rss = float64(bytes) / megabyte
	if heap, known := s.heapBytes(ctx); known {
		s.heap = heap / megabyte
	}
	return nil
}

// versions are the resource versions of all pods of the bench, by name.
func (b *bench) versions(ctx context.Context) (map[string]string, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := b.cluster.api.List(ctx, &list, client.InNamespace(b.namespace)); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	result := map[string]string{}
	for i := range list.Items {
		result[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	return result, nil
}

// touched counts the pods that changed, came or went.
func touched(before, after map[string]string) int {
	n := 0
	for name, version := range after {
		if before[name] != version {
			n++
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			n++
		}
	}
	return n
}

// quietRound measures a manager that has nothing to do, and what pods of other owners cost it.
func (b *bench) quietRound(ctx context.Context) error {
	m, err := b.startManager(ctx)
	if err != nil {
		return err
	}
	pods := b.o.restSets * b.o.restPods
	if err := b.populate(ctx, m, b.o.restSets, pods); err != nil {
		return err
	}
	if b.o.wants(scenarioRest) {
		r := b.newRow(pods, kinds[b.o.kind].name(), scenarioRest)
		r.note("%d sets", b.o.restSets)
		b.finish(r, func() error { return b.rest(ctx, r, m) })
	}
	if b.o.wants(scenarioForeign) && m.pid == 0 {
		b.remark("The manager's process cannot be seen from here: there is no scenario " + scenarioForeign + ".")
	} else if b.o.wants(scenarioForeign) {
		r := b.newRow(pods, kinds[b.o.kind].name(), scenarioForeign)
		r.note("%d pods of other owners", b.o.foreignPods)
		b.finish(r, func() error { return b.foreign(ctx, r, m) })
	}
	return context.Cause(ctx)
}

func (b *bench) rest(ctx context.Context, r *row, m *manager) error {
	err := b.measured(ctx, r, b.subject(m), func(ctx context.Context) error { return pause(ctx, b.o.restFor) })
	if err != nil {
		return err
	}
	if cpu, known := r.Figures[cpuTime]; known {
		r.set(cpuPercent, 100*cpu/r.Figures[wallSeconds])
	}
	if m.pid == 0 {
		return nil
	}
	bytes, err := memory(m.pid, "VmRSS")
	if err != nil {
		return err
	}
	r.set(rssMB, float64(bytes)/megabyte)
	return nil
}

// foreign compares the manager's memory with and without pods of others: of a manager that runs while they come, and
// of one that is started on them. The latter cannot be told of a manager that the user started.
func (b *bench) foreign(ctx context.Context, r *row, m *manager) error {
	restartable := !b.o.foreignManager()
	before, aside := &started{manager: m}, &row{Pods: r.Pods} // what the starts cost in time is another scenario
	if restartable {
		var err error
		if before, err = b.restart(ctx, aside, b.o.restSets); err != nil {
			return err
		}
	} else if err := before.readMemory(ctx); err != nil {
		return err
	}
	if err := b.createForeign(ctx); err != nil {
		return err
	}
	if err := pause(ctx, calm); err != nil {
		return err
	}
	running := &started{manager: before.manager}
	if err := running.readMemory(ctx); err != nil {
		return err
	}
	r.set(addedRSSMB, running.rss-before.rss)
	if !restartable {
		return nil
	}
	after, err := b.restart(ctx, aside, b.o.restSets)
	if err != nil {
		return err
	}
	r.set(addedFreshMB, after.rss-before.rss)
	r.set(addedHeapMB, after.heap-before.heap)
	r.set(addedPeakMB, after.peak-before.peak)
	return nil
}

// createForeign makes pods that an object of a kind owns that no manager here works for, and waits until they run.
func (b *bench) createForeign(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.o.patience, errors.New("it takes longer than --patience"))
	defer cancel()
	const app = "foreign"
	b.say("    creating %d pods of another owner", b.o.foreignPods)
	owner, err := b.cluster.core.CoreV1().ConfigMaps(b.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: app}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating an owner: %w", err)
	}
	pods := b.cluster.core.CoreV1().Pods(b.namespace)
	err = parallel(ctx, b.o.workers, b.o.foreignPods, func(ctx context.Context, i int) error {
		t := template(app)
		_, err := pods.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%d", app, i), Labels: t.Labels,
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true),
				}},
			},
			Spec: t.Spec,
		}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("creating pods of another owner: %w", err)
	}
	pending := metav1.ListOptions{LabelSelector: labelApp + "=" + app, FieldSelector: "status.phase=Pending", Limit: 1}
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		list, err := pods.List(ctx, pending)
		if err != nil {
			return false, err
		}
		return len(list.Items) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the pods of another owner run: %w", err)
	}
	return nil
}

// statusOf is an object's status as JSON, for an error.
func statusOf(o client.Object) string {
	if o == nil {
		return "unknown"
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err.Error()
	}
	status, _, err := unstructured.NestedMap(content, "status")
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(status)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
