// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// daemonSet has no partition and no number of pods to ask for. With OnDelete its own controller moves no pod, and gives each
// that is deleted the newest template: so the pods of a batch are deleted. How many may be updated is what there is, not what
// stands anywhere: all but the old ones.
type daemonSet struct{}

func (daemonSet) ID() schema.GroupVersionKind { return appsv1.SchemeGroupVersion.WithKind("DaemonSet") }

func (daemonSet) reads() reads { return reads{pods: true, revisions: true} }

func (daemonSet) places() places {
	p := usual()
	p.replicas, p.update, p.current = nil, nil, nil
	p.strategy = in("spec", "updateStrategy")
	return p
}

func (k daemonSet) look(s *Seen, now time.Time) error {
	set := appsv1.DaemonSet{}
	if err := remarshal(s.Object.Object, &set); err != nil {
		return err
	}
	k.name(s)
	w, status := &s.Workload, &set.Status
	w.Versions = true
	w.Seen = w.Seen && s.newest != ""
	w.Replicas, w.Pods = int(status.DesiredNumberScheduled), int(status.CurrentNumberScheduled)
	w.Ready, w.Available = int(status.NumberReady), int(status.NumberAvailable)
	w.Others = 0 // nodes come and go
	w.Updated, w.UpdatedAvailable = s.updatedOf(s.pods, set.Spec.MinReadySeconds, now)
	w.Waits = s.waitsOf(s.pods)
	old := len(s.old())
	w.Asked = max(w.Replicas-old, 0)
	w.Differs = !w.Seen || old > 0
	updates := set.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType && old > 0
	if w.Busy = s.busy(updates); updates && w.Seen && w.Ready < w.Pods {
		w.Remedy = "give it the update strategy OnDelete, and its pods go by this rollout"
	}
	if s.ask.Scales && !w.Differs {
		w.Unfit = "a DaemonSet has a pod on each node that it is for, and no number to be scaled by: leave spec.rolloutPlan.targetSize out"
	}
	return nil
}

// name finds the revision of the template among its own, and as the one before it that of most old pods.
func (daemonSet) name(s *Seen) {
	s.newest, s.current = "", ""
	most := 0
	for _, r := range slices.Backward(s.revisions) {
		id, err := identityOf(r)
		if err == nil && id == s.Workload.Template && s.newest == "" {
			s.newest = r.Name
			continue
		}
		n := 0
		for _, p := range s.pods {
			if pod.IsActive(p) && pod.HasRevision(p, r.Name) {
				n++
			}
		}
		if n > most {
			most, s.current = n, r.Name
		}
	}
	if s.current == "" {
		s.current = s.newest
	}
}

// old are the active pods that are not on the newest template.
func (s *Seen) old() []*corev1.Pod {
	var old []*corev1.Pod
	for _, p := range s.pods {
		if pod.IsActive(p) && !pod.HasRevision(p, s.newest) {
			old = append(old, p)
		}
	}
	return old
}

func (k daemonSet) keep(_ *Seen, o *unstructured.Unstructured, _ int, _ string) {
	if strategy := k.places().strategy; in("spec", "updateStrategy", "type").text(o) != onDelete {
		strategy.set(o, map[string]any{"type": onDelete})
	}
}

func (k daemonSet) open(s *Seen, o *unstructured.Unstructured) {
	if s.record != nil && len(s.record.Strategy) > 0 {
		k.places().strategy.restore(o, s.record.Strategy)
	}
}

// take deletes old pods, those that do not serve first. It takes none before its own controller knows the template: they would
// come back as they were.
func (daemonSet) take(s *Seen, n int, why step.Because) []step.Step {
	if !s.Workload.Seen {
		return nil
	}
	old := s.old()
	slices.SortStableFunc(old, func(a, b *corev1.Pod) int {
		switch {
		case pod.IsReady(a) == pod.IsReady(b):
			return 0
		case pod.IsReady(b):
			return -1
		}
		return 1
	})
	var steps []step.Step
	for _, p := range old[:between(0, n-s.Workload.Asked, len(old))] {
		steps = append(steps, step.DeletePod{Because: why, Target: step.On(p), Cause: step.Recreate})
	}
	return steps
}
