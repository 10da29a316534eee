// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/kube"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// book is what the judge notes of one workload while it is held.
type book struct {
	// from is how many pods it was asked for when it was claimed, and drift by how much others have changed that since.
	from, drift int
	// plan is that of the rollout that holds it, as it was last seen while the rollout ran.
	plan rolloutv1alpha1.RolloutPlan
	// spared are pods that others have let go to the newest template: by another size, or by ending a pod.
	spared int
	// outside: a new template has come by somebody else, and the rollout has not answered yet.
	outside bool
}

// scene is the moment of a write, for one workload.
type scene struct {
	*judge
	trait    *rolloutv1alpha1.RolloutTrait // as it is stored; nil when it is gone
	workload client.Object                 // after the write
	workload.Spec
	book *book
	pods []*corev1.Pod
	// batch is the one that may be under way.
	batch int
}

func (j *judge) scene(o client.Object) *scene {
	s := &scene{judge: j, trait: j.stored(), workload: o, Spec: workload.SpecOf(o), pods: j.PodsOf(o)}
	s.book = j.books[o.GetUID()]
	return s
}

func (j *judge) stored() *rolloutv1alpha1.RolloutTrait { return typed(j.Set()) }

// total is how many pods the batches of a rollout in place divide.
func (s *scene) total() int {
	if set, is := s.workload.(*appsv1.DaemonSet); is { // what its own controller knows of: nodes come and go
		return int(set.Status.DesiredNumberScheduled)
	}
	return s.Replicas
}

// updated are the pods that are on the newest template, and serving those of them that are available.
func (s *scene) updated() (updated, serving int) {
	for _, pod := range s.pods {
		if world.Running(pod).App != s.App {
			continue
		}
		updated++
		if world.Available(pod, 0, s.Clock.Now()) {
			serving++
		}
	}
	return updated, serving
}

// told is how many pods are updated by the status of the workload, where a rollout believes that. While it is held, a status that is
// behind may be of the present template all the same.
func (s *scene) told() (updated, serving int) {
	f := s.fields()
	if f.Observed < s.workload.GetGeneration() && s.book == nil {
		return 0, 0
	}
	return int(f.Status.Updated), int(f.Status.Both)
}

// began is how many pods the batches of a rollout in place divided when it began.
func (s *scene) began() int {
	if r := s.trait.Status.Running; r != nil && s.trait.Status.RollingState != rolloutv1alpha1.InitializingState {
		return int(r.Total)
	}
	return s.book.from
}

// inPlace is the goal of a batch of a rollout in place.
func (s *scene) inPlace(p *rolloutv1alpha1.RolloutPlan, batch int) int {
	return goalAfter(p, batch, s.began(), s.total())
}

// scale is the goal of a batch of a scale.
func (s *scene) scale(p *rolloutv1alpha1.RolloutPlan, batch int) int {
	s.book.plan.TargetSize = s.trait.Status.Running.TargetSize
	total := s.done(int(valueOf(s.book.plan.TargetSize)))
	return goalAfter(p, batch, total, total)
}

// pair is the goal of a batch of a pair, and how many pods the two have together.
func (s *scene) pair(p *rolloutv1alpha1.RolloutPlan, batch int, other *scene) (goal, total int) {
	began := int(s.trait.Status.Running.Total)
	if isTarget, _ := s.counterpart(); s.trait.Status.RollingState == rolloutv1alpha1.InitializingState && s.trait.Status.Running.TargetSize == nil {
		source := s
		if isTarget {
			source = other
		}
		began += source.book.from - int(s.trait.Status.RolloutOriginalSize) // until it is claimed, what it is asked for counts
	}
	total = max(0, began+s.book.drift+other.book.drift)
	return goalAfter(p, batch, began, total), total
}

func (s *scene) fields() workload.Fields {
	copied, _ := s.workload.DeepCopyObject().(client.Object)
	return workload.FieldsOf(copied)
}

// allowed is how many pods the workload may have on its newest template.
func (s *scene) allowed() int {
	switch {
	case s.kind.daemons():
		updated, _ := s.updated()
		return max(0, s.total()-(len(s.pods)-updated))
	case !s.kind.positions():
		return max(0, s.Replicas-s.Kept)
	}
	allowed := max(0, s.Replicas-s.Kept)
	for _, pod := range s.pods {
		if n := kube.Ordinal(pod); n < s.Kept && n < s.Replicas && world.Running(pod).App == s.App {
			allowed++
		}
	}
	return allowed
}

// done is how many pods a scale has added or removed at a size.
func (s *scene) done(size int) int {
	to := int(valueOf(s.book.plan.TargetSize))
	if to >= s.book.from {
		return max(0, size-s.book.from)
	}
	return max(0, s.book.from-size)
}

// ask is the mode of the rollout that runs.
func modeOf(t *rolloutv1alpha1.RolloutTrait) rolloutv1alpha1.RolloutMode {
	if t == nil || t.Status.Running == nil {
		return ""
	}
	return t.Status.Running.Mode
}

// counterpart is the other workload of a pair with its book; nil when there is none.
func (s *scene) counterpart() (target bool, other *scene) {
	r := s.trait.Status.Running
	name := r.TargetRef.Name
	target = s.workload.GetName() == name
	if target && r.SourceRef != nil {
		name = r.SourceRef.Name
	}
	o := s.Server.Get(s.kind.stored, types.NamespacedName{Namespace: world.Namespace, Name: name})
	if o == nil || o.GetUID() == s.workload.GetUID() {
		return target, nil
	}
	return target, s.judge.scene(o)
}
