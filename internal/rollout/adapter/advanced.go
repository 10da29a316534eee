// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/ordinal"
)

// advancedStatefulSet has a partition over positions, which are those of the ordinals that are not reserved; with
// unorderedUpdate it counts pods, whichever they are. It can be paused.
type advancedStatefulSet struct{ byPosition }

func (advancedStatefulSet) ID() schema.GroupVersionKind {
	return kruisev1beta1.GroupVersion.WithKind("StatefulSet")
}

var unordered = in("spec", "updateStrategy", "rollingUpdate", "unorderedUpdate")

func (advancedStatefulSet) places() places {
	p := usual()
	p.partition, p.strategy = in("spec", "updateStrategy", "rollingUpdate", "partition"), in("spec", "updateStrategy")
	p.paused = in("spec", "updateStrategy", "rollingUpdate", "paused")
	return p
}

func (k advancedStatefulSet) look(s *Seen, now time.Time) error {
	set := kruisev1beta1.StatefulSet{}
	if err := remarshal(s.Object.Object, &set); err != nil {
		return err
	}
	reserved, err := ordinal.ParseReserved(set.Spec.ReserveOrdinals)
	if err != nil {
		return err
	}
	start, partition, minReady, paused := 0, 0, int32(0), false
	if set.Spec.Ordinals != nil {
		start = int(set.Spec.Ordinals.Start)
	}
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil {
		partition, minReady, paused = int(ptr.Deref(r.Partition, 0)), ptr.Deref(r.MinReadySeconds, 0), r.Paused
	}
	status := &set.Status
	s.place(reserved.Live(start, s.Workload.Replicas))
	s.count(int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas), minReady, now)
	if unordered.get(s.Object) != nil {
		w := &s.Workload
		w.Asked = between(0, w.Replicas-partition, w.Replicas)
		s.judge(s.active(), paused)
		return nil
	}
	s.position(partition, paused || set.Spec.UpdateStrategy.Type == kruisev1beta1.OnDeleteStatefulSetStrategyType)
	return nil
}

func (k advancedStatefulSet) keep(s *Seen, o *unstructured.Unstructured, n int, revision string) {
	if unordered.get(o) != nil {
		rolls(s, o)
		byNumber{}.keep(s, o, n, revision)
		return
	}
	k.byPosition.keep(s, o, n, revision)
}
