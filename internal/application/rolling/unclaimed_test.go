// SPDX-License-Identifier: Apache-2.0

package rolling_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// delivered is when a CloneSet has the template of the target, and nobody holds it yet.
func delivered(w *world) func(*oamv1beta1.AppRollout) bool {
	return func(*oamv1beta1.AppRollout) bool { return w.cloneSet().Spec.Template.Spec.Containers[0].Image == "a:2" }
}

// Between the delivery of a workload and its claim nobody holds it. A rollout that ends there gives it back the template that its pods
// have: nobody else would ever let them go on to the other one.
func TestAWorkloadThatWasNeverHeldHasItsTemplateBack(t *testing.T) {
	remove := func(w *world) { w.remove(w.rollout()) }
	before := "Application shop, of shop-v1, on a:1: a:1 a:1 a:1 a:1"
	for sentence, c := range map[string]struct {
		asks  func(*oamv1beta1.AppRollout)
		until func(*world) func(*oamv1beta1.AppRollout) bool
		then  func(*world)
		end   func(*oamv1beta1.AppRollout) bool
		want  string
	}{
		"it is deleted":              {nil, delivered, remove, gone, before},
		"it is deleted, and reverts": {func(r *oamv1beta1.AppRollout) { r.Spec.RevertOnDelete = ptr.To(true) }, delivered, remove, gone, before},
		"it is deleted when it is about to hold it": {
			nil, func(*world) func(*oamv1beta1.AppRollout) bool { return is(rolloutv1alpha1.InitializingState) }, remove, gone, before,
		},
		"it is deleted while it is paused": {nil, delivered, func(w *world) {
			w.edit(func(r *oamv1beta1.AppRollout) { r.Spec.RolloutPlan.Paused = true })
			w.look()
			remove(w)
		}, gone, before},
		"a person aborts it": {
			nil, func(*world) func(*oamv1beta1.AppRollout) bool { return is(rolloutv1alpha1.InitializingState) },
			says(rolloutv1alpha1.AnnotationAbort), is(rolloutv1alpha1.RolloutFailedState), before,
		},
		"it can never succeed": {func(r *oamv1beta1.AppRollout) {
			r.Spec.RolloutPlan.NumBatches = nil
			r.Spec.RolloutPlan.RolloutBatches = []rolloutv1alpha1.RolloutBatch{{Replicas: ptr.To(intstr.FromInt32(3))}, {Replicas: ptr.To(intstr.FromInt32(3))}}
		}, delivered, func(*world) {}, func(r *oamv1beta1.AppRollout) bool {
			return is(rolloutv1alpha1.RolloutFailedState)(r) && len(r.Finalizers) == 0
		}, before},
		"somebody has set another template": {nil, delivered, func(w *world) {
			s := w.cloneSet()
			s.Spec.Template.Spec.Containers[0].Image = "a:9"
			if err := w.Update(w.t.Context(), s); err != nil {
				w.t.Fatal(err)
			}
			w.release()
			remove(w)
		}, gone, "Application shop, of shop-v2, on a:9: a:1 a:1 a:1 a:1"},
		"somebody has let pods go on": {nil, delivered, func(w *world) {
			s := w.cloneSet()
			s.Spec.UpdateStrategy.Partition = ptr.To(intstr.FromInt32(3))
			if err := w.Update(w.t.Context(), s); err != nil {
				w.t.Fatal(err)
			}
			w.release()
			remove(w)
		}, gone, "Application shop, of shop-v2, on a:2: a:1 a:1 a:1 a:2"},
	} {
		t.Run(sentence, func(t *testing.T) {
			asks := asking("shop-v2", "shop-v1")
			if c.asks != nil {
				c.asks(asks)
			}
			w := newWorld(t, append(setsOf(t, nil, nil), deployed(set(t, "a:1"), 1, "cart", 1), asks)...)
			w.until(c.until(w))
			if got, want := w.set(), "Application shop, of shop-v2, on a:2: a:1 a:1 a:1 a:1"; got != want {
				t.Fatalf("it is delivered as %s\nwant %s", got, want)
			}
			c.then(w)
			w.comesTo(c.end, c.want)
		})
	}
}

// What scales the older of two Deployments rests from the delivery on, and has its own bounds again when no pod goes over.
func TestAnAutoscalerThatRestsForARolloutThatNeverBeganHasItsBoundsBack(t *testing.T) {
	hpa := func(least int) *unstructured.Unstructured { return scaler(t, deployment(t, ""), least) }
	w := newWorld(t, append(deploymentsOf(t, extras(hpa(3)), extras(hpa(2))), named(deployed(deployment(t, "a:1"), 1, "cart", 1), "cart-v1"), deployed(hpa(3), 1, "cart", 1), asking("shop-v2", "shop-v1"))...)
	w.until(func(*oamv1beta1.AppRollout) bool {
		_, there := find(w, &appsv1.Deployment{}, "cart-v2")
		return there
	})
	if diff := cmp.Diff([]string{"cart scales cart-v1 to at least 1"}, there(w, &autoscalingv2.HorizontalPodAutoscalerList{})); diff != "" {
		t.Fatalf("before (-want +got):\n%s", diff)
	}
	w.remove(w.rollout())
	w.until(gone)
	if diff := cmp.Diff([]string{"cart scales cart-v1 to at least 3"}, there(w, &autoscalingv2.HorizontalPodAutoscalerList{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"cart-v1 has 4", "cart-v2 has 0"}, there(w, &appsv1.DeploymentList{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A rollout that has ended holds nothing, and nothing follows when it is deleted, though somebody keeps it for a while.
func TestADeletionAfterTheEndChangesNothing(t *testing.T) {
	hpa := func(least int) *unstructured.Unstructured { return scaler(t, deployment(t, ""), least) }
	kept := asking("shop-v2", "shop-v1", func(r *oamv1beta1.AppRollout) { r.Finalizers = []string{"example.com/keeps"} })
	w := newWorld(t, append(deploymentsOf(t, extras(hpa(3)), extras(hpa(2))), named(deployed(deployment(t, "a:1"), 1, "cart", 1), "cart-v1"), deployed(hpa(3), 1, "cart", 1), kept)...)
	w.until(is(rolloutv1alpha1.RolloutSucceedState))
	w.remove(w.rollout())
	for range 5 {
		w.look()
	}
	if w.rollout().DeletionTimestamp == nil {
		t.Fatal("it is not being deleted")
	}
	if diff := cmp.Diff([]string{"cart scales cart-v2 to at least 2"}, there(w, &autoscalingv2.HorizontalPodAutoscalerList{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is delivered without holding anything back needs nobody to let it go: the rollout is written no more often than before.
func TestARolloutThatHoldsNothingBackHasNoFinalizer(t *testing.T) {
	w := newWorld(t, revisionOf(t, "shop", 1, part{"cart", 1, set(t, "a:1"), nil}), revisionOf(t, "shop", 2, part{"cart", 1, set(t, "a:1"), extras(service(t, "new"))}),
		deployed(set(t, "a:1"), 1, "cart", 1), asking("shop-v2", "shop-v1"))
	r := w.until(func(r *oamv1beta1.AppRollout) bool {
		if len(r.Finalizers) > 0 {
			t.Errorf("it has %v", r.Finalizers)
		}
		return r.Status.RollingState == rolloutv1alpha1.RolloutSucceedState
	})
	if metav1.GetControllerOf(r) != nil {
		t.Error("it is controlled by somebody")
	}
}

// A rollout that is asked for another component has left the first one alone.
func TestAComponentThatIsLeftBeforeItWasHeldHasItsTemplateBack(t *testing.T) {
	pay := func(image string) *unstructured.Unstructured { return named(set(t, image), "pay") }
	w := newWorld(t,
		revisionOf(t, "shop", 1, part{"cart", 1, set(t, "a:1"), nil}, part{"pay", 1, pay("p:1"), nil}),
		revisionOf(t, "shop", 2, part{"cart", 2, set(t, "a:2"), nil}, part{"pay", 2, pay("p:2"), nil}),
		deployed(set(t, "a:1"), 1, "cart", 1), deployed(pay("p:1"), 1, "pay", 1), asking("shop-v2", "shop-v1", component("cart")),
	)
	w.until(is(rolloutv1alpha1.InitializingState))
	w.edit(component("pay"))
	w.until(func(r *oamv1beta1.AppRollout) bool {
		return r.Status.Component == "pay" && r.Status.RollingState == rolloutv1alpha1.RolloutSucceedState
	})
	if got, want := w.set(), "Application shop, of shop-v1, on a:1: a:1 a:1 a:1 a:1"; got != want {
		t.Errorf("it is %s\nwant %s", got, want)
	}
}

// Where the source has no pods, and the target all, there is nothing to roll out; what follows a last batch comes all the same.
func TestDeploymentsThatHaveTakenTurnsAlreadyHaveTheirExtras(t *testing.T) {
	hpa := func(least int) *unstructured.Unstructured { return scaler(t, deployment(t, ""), least) }
	sized := func(number, pods int) *unstructured.Unstructured {
		o := named(deployed(deployment(t, fmt.Sprintf("a:%d", number)), number, "cart", number), fmt.Sprintf("cart-v%d", number))
		_ = unstructured.SetNestedField(o.Object, int64(pods), "spec", "replicas")
		return o
	}
	rests := deployed(object(t, "autoscaling/v2", "HorizontalPodAutoscaler", "cart", map[string]any{
		"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart-v1"}, "minReplicas": 1,
	}), 1, "cart", 1)
	for sentence, c := range map[string]struct {
		older       int
		size        *int32
		deployments []string
		scaler      string
	}{
		"going back before a pod has gone over":         {0, nil, []string{"cart-v1 has 4", "cart-v2 has 0"}, "cart scales cart-v1 to at least 3"},
		"the same size is asked for":                    {0, ptr.To[int32](4), []string{"cart-v1 has 4", "cart-v2 has 0"}, "cart scales cart-v1 to at least 3"},
		"not while there are pods: these go in batches": {1, nil, []string{"cart-v1 has 4", "cart-v2 has 1"}, "cart scales cart-v2 to at least 1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, append(deploymentsOf(t, extras(hpa(3)), extras(hpa(2), service(t, "new"))), sized(1, 4), sized(2, c.older), deployed(service(t, "new"), 2, "cart", 2), rests, asking("shop-v1", "shop-v2", func(r *oamv1beta1.AppRollout) {
				r.Spec.RolloutPlan.TargetSize = c.size
			}))...)
			w.release()
			s, err := w.kind.Subject(t.Context(), w.rollout())
			if err != nil || c.older > 0 {
				if first := lines(t, s.First); err != nil || !slices.Contains(first, `apply HorizontalPodAutoscaler cart scales="cart-v2" least=1`) {
					t.Errorf("it begins with %v, %v", first, err)
				}
				return
			}
			w.until(is(rolloutv1alpha1.RolloutSucceedState))
			if diff := cmp.Diff(c.deployments, there(w, &appsv1.DeploymentList{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{c.scaler}, there(w, &autoscalingv2.HorizontalPodAutoscalerList{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string(nil), there(w, &corev1.ServiceList{})); diff != "" {
				t.Errorf("what only the source had (-want +got):\n%s", diff)
			}
		})
	}
}
