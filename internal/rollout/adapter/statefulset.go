// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// statefulSet has a partition over positions, which are ordinals counted from its first one. Its status counts old pods that are
// ready as well, so its pods are counted. With OnDelete it updates nothing by itself: while it is held it does, and then it has its
// strategy back. Unless it is parallel it waits for every pod to be ready, also for one of a version that is no longer wanted and
// never will be: that one is deleted, as a person would, when the batch reaches it.
type statefulSet struct{ byPosition }

func (statefulSet) ID() schema.GroupVersionKind {
	return appsv1.SchemeGroupVersion.WithKind("StatefulSet")
}

func (statefulSet) places() places {
	p := usual()
	p.partition, p.strategy = in("spec", "updateStrategy", "rollingUpdate", "partition"), in("spec", "updateStrategy")
	return p
}

func (k statefulSet) look(s *Seen, now time.Time) error {
	set := appsv1.StatefulSet{}
	if err := remarshal(s.Object.Object, &set); err != nil {
		return err
	}
	start := 0
	if set.Spec.Ordinals != nil {
		start = int(set.Spec.Ordinals.Start)
	}
	ordinals := make([]int, s.Workload.Replicas)
	for i := range ordinals {
		ordinals[i] = start + i
	}
	status := &set.Status
	s.place(ordinals)
	s.count(int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas), set.Spec.MinReadySeconds, now)
	partition := 0
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil {
		partition = int(ptr.Deref(r.Partition, 0))
	}
	s.position(partition, set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType)
	if s.Workload.Held {
		s.Workload.Asked -= len(s.stuck(partition)) // so that they are asked for until they are gone
	}
	return nil
}

// stuck are the pods that a partition lets go on to the newest template, and that the set's own controller waits for instead.
func (s *Seen) stuck(partition int) []*corev1.Pod {
	if in("spec", "podManagementPolicy").text(s.Object) == string(appsv1.ParallelPodManagement) || s.newest == "" {
		return nil
	}
	var stuck []*corev1.Pod
	for _, p := range s.positions[min(partition, len(s.positions)):] {
		if p != nil && pod.IsActive(p) && !pod.IsReady(p) && !pod.HasRevision(p, s.newest) {
			stuck = append(stuck, p)
		}
	}
	return stuck
}

// take deletes pods that are stuck. It takes none before the set's own controller knows the template: they would come back as they
// were.
func (statefulSet) take(s *Seen, n int, why step.Because) []step.Step {
	if !s.Workload.Seen {
		return nil
	}
	var steps []step.Step
	for _, p := range s.stuck(s.partitionFor(n, s.newest)) {
		steps = append(steps, step.DeletePod{Because: why, Target: step.On(p), Cause: step.Recreate})
	}
	return steps
}
