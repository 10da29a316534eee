// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// statefulSet has a partition over positions, which are ordinals counted from its first one. Its status counts old pods that are
// ready as well, so its pods are counted. With OnDelete it updates nothing by itself: while it is held it does, and then it has its
// strategy back.
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
	return nil
}
