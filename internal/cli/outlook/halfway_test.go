// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/test/golden"
)

// halfway plays a rollout until it waits at its partition, and returns it and what there is then.
func halfway(s *scene, r client.Object) (*scene, client.Object) {
	s.t.Helper()
	p, err := newPlay(s.input(r, nil), now.Add(-time.Hour))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := p.begin(); err != nil {
		s.t.Fatal(err)
	}
	for range 100 {
		if err := p.look(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		brought, err := p.bring(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if brought {
			continue
		}
		next := engine.Next(p.world, p.now)
		p.note(&next)
		acted, err := p.act(s.t.Context(), &next)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := p.follow(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		if next.Status.WaitingFor == rolloutv1alpha1.WaitingAtPartition || !acted && next.Status.RollingState.IsFinal() {
			break
		}
	}
	later := &scene{t: s.t}
	for _, w := range p.workloads {
		later.objects = append(later.objects, w.object)
	}
	for _, o := range p.pods {
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		later.objects = append(later.objects, o)
	}
	for _, o := range p.revisions {
		o.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"}
		later.objects = append(later.objects, client.Object(o))
	}
	p.asks.SetUID("r-uid")
	return later, p.asks.Object
}

// stopping is a rollout that waits after its first batch.
func stopping(r *rolloutv1alpha1.RolloutTrait) *rolloutv1alpha1.RolloutTrait {
	r.UID = "r-uid"
	r.Spec.RolloutPlan.BatchPartition = ptr.To[int32](0)
	return r
}

func TestHalfway(t *testing.T) {
	for name, test := range map[string]struct {
		kind   [2]string
		change func(*rolloutv1alpha1.RolloutTrait)
		acts   bool
	}{
		"halfway-waits":    {[2]string{kruise, "CloneSet"}, func(*rolloutv1alpha1.RolloutTrait) {}, false},
		"halfway-promoted": {[2]string{kruise, "CloneSet"}, func(r *rolloutv1alpha1.RolloutTrait) { r.Spec.RolloutPlan.BatchPartition = nil }, true},
		"halfway-reverted": {[2]string{kruise, "CloneSet"}, func(r *rolloutv1alpha1.RolloutTrait) {
			r.Annotations = map[string]string{rolloutv1alpha1.AnnotationRevert: r.Status.Take()}
		}, true},
		"halfway-aborted": {[2]string{"apps/v1", "StatefulSet"}, func(r *rolloutv1alpha1.RolloutTrait) {
			r.Annotations = map[string]string{rolloutv1alpha1.AnnotationAbort: r.Status.Take()}
		}, true},
		"halfway-deleted": {[2]string{"apps/v1", "DaemonSet"}, func(r *rolloutv1alpha1.RolloutTrait) {
			r.DeletionTimestamp = ptr.To(metav1.NewTime(now))
		}, true},
		"halfway-advanced-statefulset": {[2]string{kruise2, "StatefulSet"}, func(r *rolloutv1alpha1.RolloutTrait) { r.Spec.RolloutPlan.BatchPartition = nil }, true},
		"halfway-another-target":       {[2]string{cafe, "InPlaceSet"}, func(r *rolloutv1alpha1.RolloutTrait) { r.Spec.TargetRef.Name = "other" }, true},
		"halfway-newer-template":       {[2]string{kruise, "CloneSet"}, func(r *rolloutv1alpha1.RolloutTrait) { r.Spec.RolloutPlan.BatchPartition = nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{t: t}
			later, before := halfway(s, stopping(rollout(s.held(test.kind[0], test.kind[1]), 2, "50%", nil)))
			r := before.DeepCopyObject().(*rolloutv1alpha1.RolloutTrait)
			test.change(r)
			if name == "halfway-newer-template" {
				w := later.objects[0].(*unstructured.Unstructured)
				put(t, w, fields{"spec.template": template("web", "v3")})
				w.SetGeneration(w.GetGeneration() + 1)
			}
			o := later.foresee(r, before)
			golden.Lines(t, name+".txt", o.Lines(false))
			if got := o.ChangesAnything(); got != test.acts {
				t.Errorf("changes anything: %t, want %t", got, test.acts)
			}
		})
	}
}

func TestWhatHasEndedStaysSo(t *testing.T) {
	s := &scene{t: t}
	later, before := halfway(s, rollout(s.held(kruise, "CloneSet"), 2, nil))
	if state := before.(*rolloutv1alpha1.RolloutTrait).Status.RollingState; state != rolloutv1alpha1.RolloutSucceedState {
		t.Fatalf("it is at %s", state)
	}
	o := later.foresee(before, before)
	if o.ChangesAnything() || o.Refusal() != "" || o.Ending != Succeeds {
		t.Errorf("it changes %t, refuses %q, and %s", o.ChangesAnything(), o.Refusal(), o.Ending)
	}
	golden.Lines(t, "has-ended.txt", o.Lines(false))
}
