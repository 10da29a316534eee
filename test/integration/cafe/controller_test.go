// SPDX-License-Identifier: Apache-2.0

package cafe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/cafe/podset"
)

const namespace = "default"

// played is a deployment whose pod sets the test plays.
type played struct {
	t    *testing.T
	kind podset.Kind
	name string
	// older is how many pods of a set are of another template than that of the revision in given.
	older, has map[string]int32
	given      map[string]string
}

func play(t *testing.T, kind cafev1alpha1.PodSetType, change func(*cafev1alpha1.CafeDeployment)) *played {
	t.Helper()
	k, err := podset.Of(kind)
	if err != nil {
		t.Fatal(err)
	}
	p := &played{t: t, kind: k, name: strings.ToLower(string(kind)), older: map[string]int32{}, has: map[string]int32{}, given: map[string]string{}}
	d := &cafev1alpha1.CafeDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.name},
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: ptr.To[int32](5), PodSetType: kind, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": p.name}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.test/app:v1"}}},
			},
			Strategy: cafev1alpha1.CafeDeploymentStrategy{UpgradeType: cafev1alpha1.BetaUpgradeType, BatchSize: ptr.To[int32](2)},
			Topology: cafev1alpha1.Topology{Values: []string{"CellA", "CellB"}},
		},
	}
	if change != nil {
		change(d)
	}
	if err := live.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := live.Delete(context.Background(), d); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *played) deployment(ctx context.Context) (*cafev1alpha1.CafeDeployment, error) {
	d := &cafev1alpha1.CafeDeployment{}
	return d, live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: p.name}, d)
}

// edit changes the deployment as a person would.
func (p *played) edit(change func(*cafev1alpha1.CafeDeployment)) {
	p.t.Helper()
	d, err := p.deployment(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	before := d.DeepCopy()
	change(d)
	if err := live.Patch(p.t.Context(), d, client.MergeFrom(before)); err != nil {
		p.t.Fatal(err)
	}
}

// until plays the pod sets until the deployment is as wanted.
func (p *played) until(what string, reached func(*cafev1alpha1.CafeDeployment) bool) *cafev1alpha1.CafeDeployment {
	p.t.Helper()
	var last *cafev1alpha1.CafeDeployment
	err := wait.PollUntilContextTimeout(p.t.Context(), 20*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		d, err := p.deployment(ctx)
		if err != nil {
			return false, err
		}
		if last = d; d.Status.ObservedGeneration == d.Generation && reached(d) {
			return true, nil
		}
		return false, p.step(ctx)
	})
	if err != nil {
		p.t.Fatalf("%s: %v; the status is %+v", what, err, last.Status)
	}
	return last
}

// step has the controllers of the pod sets do what they are asked for.
func (p *played) step(ctx context.Context) error {
	sets, err := p.sets(ctx)
	if err != nil {
		return err
	}
	for _, set := range sets {
		shown := p.kind.Show(set, nil, time.Time{})
		name, revision := set.GetName(), set.GetAnnotations()[cafev1alpha1.AnnotationRevision]
		if p.given[name] != revision {
			p.older[name], p.given[name] = p.has[name], revision
		}
		p.has[name] = int32(shown.Asked)
		p.older[name] = min(p.older[name], int32(shown.Partition), p.has[name])
		setStatus(set, p.has[name], p.has[name]-p.older[name])
		if err := live.Status().Update(ctx, set); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("playing %s: %w", name, err)
		}
	}
	return nil
}

func (p *played) sets(ctx context.Context) ([]client.Object, error) {
	list := p.kind.List()
	if err := live.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{cafev1alpha1.LabelCafeDeployment: p.name}); err != nil {
		return nil, err
	}
	items, err := apimeta.ExtractList(list)
	var sets []client.Object
	for _, item := range items {
		sets = append(sets, item.(client.Object))
	}
	return sets, err
}

func setStatus(set client.Object, has, updated int32) {
	g := set.GetGeneration()
	switch o := set.(type) {
	case *cafev1alpha1.InPlaceSet:
		o.Status = cafev1alpha1.InPlaceSetStatus{ObservedGeneration: g, Replicas: has, ReadyReplicas: has, AvailableReplicas: has, UpdatedReplicas: updated, UpdatedReadyReplicas: updated, UpdatedAvailableReplicas: updated}
	case *kruisev1alpha1.CloneSet:
		o.Status = kruisev1alpha1.CloneSetStatus{ObservedGeneration: g, Replicas: has, ReadyReplicas: has, AvailableReplicas: has, UpdatedReplicas: updated, UpdatedAvailableReplicas: updated}
	case *kruisev1beta1.StatefulSet:
		o.Status = kruisev1beta1.StatefulSetStatus{ObservedGeneration: g, Replicas: has, ReadyReplicas: has, AvailableReplicas: has, UpdatedReplicas: updated, UpdatedAvailableReplicas: updated}
	case *appsv1.StatefulSet:
		o.Status = appsv1.StatefulSetStatus{ObservedGeneration: g, Replicas: has, ReadyReplicas: has, AvailableReplicas: has, UpdatedReplicas: updated, UpdateRevision: "new"}
	case *appsv1.ReplicaSet:
		o.Status = appsv1.ReplicaSetStatus{ObservedGeneration: g, Replicas: has, ReadyReplicas: has, AvailableReplicas: has}
	}
}

func stable(d *cafev1alpha1.CafeDeployment) bool {
	return d.Status.Phase == cafev1alpha1.StablePhase
}

// TestEveryKindOfPodSet creates, releases to, scales and re-cuts pod sets of each kind.
func TestEveryKindOfPodSet(t *testing.T) {
	for _, kind := range []cafev1alpha1.PodSetType{
		cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType, cafev1alpha1.StatefulSetPodSetType,
		cafev1alpha1.CloneSetPodSetType, cafev1alpha1.AdvancedStatefulSetPodSetType,
	} {
		t.Run(string(kind), func(t *testing.T) {
			p := play(t, kind, nil)
			first := p.until("the creation", stable)
			if s := first.Status; s.Replicas != 5 || s.UpdatedAvailableReplicas != 5 || s.CurrentRevision != s.UpdateRevision || len(s.Groups) != 3 {
				t.Errorf("after the creation: %+v", s)
			}
			p.edit(func(d *cafev1alpha1.CafeDeployment) {
				d.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v2"
			})
			released := p.until("the release", func(d *cafev1alpha1.CafeDeployment) bool {
				return stable(d) && d.Status.UpdateRevision != first.Status.UpdateRevision
			})
			if s := released.Status; s.UpdatedAvailableReplicas != 5 || s.CurrentRevision != s.UpdateRevision {
				t.Errorf("after the release: %+v", s)
			}
			p.edit(func(d *cafev1alpha1.CafeDeployment) {
				d.Spec.Replicas, d.Spec.Topology.Values = ptr.To[int32](3), []string{"CellB", "CellC"}
			})
			p.until("the new cells", func(d *cafev1alpha1.CafeDeployment) bool { return stable(d) && d.Status.Replicas == 3 })
			sets, err := p.sets(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, set := range sets {
				if unit := set.GetLabels()[cafev1alpha1.LabelUnit]; unit == "CellA" && set.GetDeletionTimestamp() == nil {
					t.Errorf("%s is still there", set.GetName())
				}
				if !metav1.IsControlledBy(set, released) {
					t.Errorf("%s is not owned", set.GetName())
				}
			}
		})
	}
}

func TestAPersonConfirms(t *testing.T) {
	p := play(t, cafev1alpha1.CloneSetPodSetType, func(d *cafev1alpha1.CafeDeployment) {
		d.Spec.Strategy.NeedWaitingForConfirm = true
		d.Name = "confirmed"
		d.Spec.Replicas = ptr.To[int32](4)
	})
	p.name = "confirmed"
	waits := p.until("the question", func(d *cafev1alpha1.CafeDeployment) bool {
		return d.Status.Phase == cafev1alpha1.WaitingForConfirmPhase
	})
	if waits.Status.Replicas != 2 || waits.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed] != "false" {
		t.Errorf("while it waits: %+v, %v", waits.Status, waits.Annotations)
	}
	p.edit(func(d *cafev1alpha1.CafeDeployment) { d.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed] = "true" })
	done := p.until("the end", func(d *cafev1alpha1.CafeDeployment) bool {
		return stable(d) && d.Annotations[cafev1alpha1.AnnotationUpgradeGroup] == ""
	})
	if _, left := done.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed]; left {
		t.Errorf("annotations are left: %v", done.Annotations)
	}
}
