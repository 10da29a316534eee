// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// builtIn plays the controllers of ReplicaSets and StatefulSets that Kubernetes brings, as far as they matter here. They see the truth, do
// one thing at a time, and are never killed. The pods of StatefulSets are managed in parallel, as CafeDeployments want it.
type builtIn struct {
	*world.World
	made int
}

// step returns what one of them would do next; nil for nothing.
func (b *builtIn) step() func() {
	for _, o := range b.Server.List(api.ReplicaSets) {
		if act := b.replicaSet(o.(*appsv1.ReplicaSet)); act != nil {
			return act
		}
	}
	for _, o := range b.Server.List(api.BuiltInStatefulSets) {
		if act := b.statefulSet(o.(*appsv1.StatefulSet)); act != nil {
			return act
		}
	}
	return nil
}

// all are the pods of a set with those that are on their way out.
func (b *builtIn) all(set client.Object) []*corev1.Pod {
	return slices.DeleteFunc(b.Pods(), func(pod *corev1.Pod) bool { return !metav1.IsControlledBy(pod, set) })
}

func (b *builtIn) replicaSet(set *appsv1.ReplicaSet) func() {
	if set.DeletionTimestamp != nil {
		return nil
	}
	pods := slices.DeleteFunc(b.all(set), func(pod *corev1.Pod) bool { return !world.Active(pod) })
	want := int(ptr.Deref(set.Spec.Replicas, 1))
	switch {
	case len(pods) < want:
		return func() { b.create(set, &set.Spec.Template, fmt.Sprintf("%s-%03d", set.Name, b.number()), "ReplicaSet") }
	case len(pods) > want:
		rank := func(pod *corev1.Pod) int {
			switch {
			case pod.Spec.NodeName == "":
				return 0
			case !world.Ready(pod):
				return 1
			}
			return 2
		}
		victim := slices.MinFunc(pods, func(a, b *corev1.Pod) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name))
		})
		return func() { b.remove(victim) }
	}
	status := appsv1.ReplicaSetStatus{ObservedGeneration: set.Generation, Replicas: int32(len(pods)), FullyLabeledReplicas: int32(len(pods))}
	for _, pod := range pods {
		if world.Ready(pod) {
			status.ReadyReplicas++
		}
		if world.Available(pod, set.Spec.MinReadySeconds, b.Clock.Now()) {
			status.AvailableReplicas++
		}
	}
	if equality.Semantic.DeepEqual(set.Status, status) {
		return nil
	}
	return func() { b.report(set, func(o client.Object) { o.(*appsv1.ReplicaSet).Status = status }) }
}

func (b *builtIn) number() int {
	b.made++
	return b.made
}

func (b *builtIn) statefulSet(set *appsv1.StatefulSet) func() {
	if set.DeletionTimestamp != nil {
		return nil
	}
	update := b.revision(set)
	if set.Status.UpdateRevision != update || set.Status.ObservedGeneration != set.Generation {
		status := b.statusOf(set, update)
		return func() { b.report(set, func(o client.Object) { o.(*appsv1.StatefulSet).Status = status }) }
	}
	byOrdinal, want := map[int]*corev1.Pod{}, int(ptr.Deref(set.Spec.Replicas, 1))
	for _, pod := range b.all(set) {
		n := ordinal(pod)
		byOrdinal[n] = pod
		if pod.DeletionTimestamp == nil && (n >= want || !world.Active(pod)) {
			return func() { b.remove(pod) }
		}
	}
	partition := 0
	if roll := set.Spec.UpdateStrategy.RollingUpdate; roll != nil {
		partition = int(ptr.Deref(roll.Partition, 0))
	}
	for n := range want {
		if byOrdinal[n] == nil {
			revision := update
			if n < partition {
				revision = set.Status.CurrentRevision
			}
			return func() { b.createOrdinal(set, n, revision) }
		}
	}
	for n := want - 1; n >= partition; n-- { // one after the other, from above
		pod := byOrdinal[n]
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] != update && pod.DeletionTimestamp == nil {
			return func() { b.remove(pod) }
		}
		if !world.Ready(pod) || pod.DeletionTimestamp != nil {
			break
		}
	}
	if status := b.statusOf(set, update); !equality.Semantic.DeepEqual(set.Status, status) {
		return func() { b.report(set, func(o client.Object) { o.(*appsv1.StatefulSet).Status = status }) }
	}
	return nil
}

// templates keep what each revision of a StatefulSet looks like in the pods' labels: the release itself is the revision.
func (b *builtIn) revision(set *appsv1.StatefulSet) string {
	return releaseLabel(world.ReleaseOf(set.Spec.Template.Labels, &set.Spec.Template.Spec))
}

// releaseLabel and releaseFrom spell a release in a label's letters and read it back.
func releaseLabel(r world.Release) string {
	return "r_" + r.App + "_" + r.Env + "_" + r.Label + "_"
}

func releaseFrom(label string) world.Release {
	parts := strings.Split(label, "_")
	return world.Release{App: parts[1], Env: parts[2], Label: parts[3]}
}

func (b *builtIn) statusOf(set *appsv1.StatefulSet, update string) appsv1.StatefulSetStatus {
	status := appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, CurrentRevision: set.Status.CurrentRevision, UpdateRevision: update}
	if status.CurrentRevision == "" {
		status.CurrentRevision = update
	}
	for _, pod := range b.all(set) {
		if !world.Active(pod) {
			continue
		}
		status.Replicas++
		if world.Ready(pod) {
			status.ReadyReplicas++
		}
		if world.Available(pod, set.Spec.MinReadySeconds, b.Clock.Now()) {
			status.AvailableReplicas++
		}
		switch pod.Labels[appsv1.ControllerRevisionHashLabelKey] {
		case update:
			status.UpdatedReplicas++
		case status.CurrentRevision:
			status.CurrentReplicas++
		}
	}
	if want := ptr.Deref(set.Spec.Replicas, 1); status.UpdatedReplicas == want && status.Replicas == want && status.ReadyReplicas == want {
		status.CurrentRevision, status.CurrentReplicas = update, status.UpdatedReplicas
	}
	if status.CurrentRevision == update {
		status.CurrentReplicas = status.UpdatedReplicas
	}
	return status
}

func (b *builtIn) createOrdinal(set *appsv1.StatefulSet, n int, revision string) {
	template := set.Spec.Template.DeepCopy()
	old := releaseFrom(revision).Template()
	template.Spec.Containers = old.Spec.Containers
	delete(template.Labels, world.LabelTrack)
	if track, has := old.Labels[world.LabelTrack]; has {
		template.Labels[world.LabelTrack] = track
	}
	template.Labels[appsv1.ControllerRevisionHashLabelKey] = revision
	b.create(set, template, fmt.Sprintf("%s-%d", set.Name, n), "StatefulSet")
}

func (b *builtIn) create(set client.Object, template *corev1.PodTemplateSpec, name, kind string) {
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = set.GetNamespace(), name
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind(kind))}
	b.Must(b.Server.Create("kubernetes", pod))
	b.Tell("kubernetes: creates %s", name)
	b.Notice()
}

func (b *builtIn) remove(pod *corev1.Pod) {
	if err := b.Server.Delete("kubernetes", api.Pods, client.ObjectKeyFromObject(pod), nil, &metav1.Preconditions{UID: &pod.UID}); err != nil {
		panic(fmt.Sprintf("the deletion of a controller of Kubernetes failed: %v", err))
	}
	b.Tell("kubernetes: deletes %s", pod.Name)
	b.Notice()
}

func (b *builtIn) report(set client.Object, change func(client.Object)) {
	b.Bench.Look() // what it has seen, the judge must have seen
	b.Must(b.Server.Modify("kubernetes", api.KindOf(set), client.ObjectKeyFromObject(set), api.Status, change))
	b.Tell("kubernetes: reports on %s", set.GetName())
}

func ordinal(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
	if err != nil {
		panic(fmt.Sprintf("pod %s has no ordinal", pod.Name))
	}
	return n
}

// wakes is when a pod of theirs becomes available by the time alone; zero for never.
func (b *builtIn) wakes() time.Time {
	var next time.Time
	read := reader(b.Server.List)
	for _, stored := range []api.Kind{api.ReplicaSets, api.BuiltInStatefulSets} {
		for _, o := range b.Server.List(stored) {
			set := setOf(o)
			for _, pod := range read.podsOf(o.GetUID()) {
				if !world.Ready(pod) || set.minReady == 0 || world.Available(pod, set.minReady, b.Clock.Now()) {
					continue
				}
				at := world.Condition(pod, corev1.PodReady).LastTransitionTime.Add(time.Duration(set.minReady) * time.Second)
				if next.IsZero() || at.Before(next) {
					next = at
				}
			}
		}
	}
	return next
}
