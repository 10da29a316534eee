// SPDX-License-Identifier: Apache-2.0

package rolling_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// inTheMiddle is an AppRollout from the first to the second revision that waits after its first batch.
func inTheMiddle() *oamv1beta1.AppRollout {
	first := int32(0)
	return asking("shop-v2", "shop-v1", func(r *oamv1beta1.AppRollout) { r.Spec.RolloutPlan.BatchPartition = &first })
}

// goesOn lets all batches roll.
func goesOn(w *world) {
	w.edit(func(r *oamv1beta1.AppRollout) { r.Spec.RolloutPlan.BatchPartition = nil })
}

// says has a person say something about a rollout.
func says(annotation string) func(*world) {
	return func(w *world) {
		w.edit(func(r *oamv1beta1.AppRollout) {
			r.Annotations = map[string]string{annotation: r.Status.Take()}
			r.Generation--
		})
	}
}

func (w *world) remove(o client.Object) {
	w.t.Helper()
	if err := w.Delete(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// set says of a CloneSet who controls it, what it is marked as, and what its pods run.
func (w *world) set() string {
	w.t.Helper()
	s := w.cloneSet()
	pods := slices.Sorted(slices.Values(w.pods["cart"]))
	held := ""
	if s.Labels[rolloutv1alpha1.LabelHeld] != "" || s.Annotations[rolloutv1alpha1.AnnotationHeld] != "" {
		held = "held, "
	}
	return fmt.Sprintf("%s, %sof %s, on %s: %s", controllerOf(s), held, s.Labels[oamv1beta1.LabelAppRevision], s.Spec.Template.Spec.Containers[0].Image, strings.Join(pods, " "))
}

// Whoever the workload was of controls it again when a rollout has ended, however it has.
func TestAWorkloadIsTheApplicationsAgainOnEveryEnding(t *testing.T) {
	reverts := func(r *oamv1beta1.AppRollout) { yes := true; r.Spec.RevertOnDelete = &yes }
	revisions := func(w *world) {
		w.remove(&oamv1beta1.ApplicationRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop-v1"}})
		w.remove(&oamv1beta1.ApplicationRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop-v2"}})
	}
	rollout := func(w *world) { w.remove(w.rollout()) }
	for sentence, c := range map[string]struct {
		asks func(*oamv1beta1.AppRollout)
		then []func(*world)
		end  func(*oamv1beta1.AppRollout) bool
		want string
	}{
		"it succeeds":        {nil, []func(*world){goesOn}, is(rolloutv1alpha1.RolloutSucceedState), "Application shop, of shop-v2, on a:2: a:2 a:2 a:2 a:2"},
		"a person aborts it": {nil, []func(*world){says(rolloutv1alpha1.AnnotationAbort)}, is(rolloutv1alpha1.RolloutFailedState), "Application shop, of shop-v2, on a:2: a:1 a:1 a:2 a:2"},
		"a person has it reverted": {
			nil, []func(*world){says(rolloutv1alpha1.AnnotationRevert)}, is(rolloutv1alpha1.RolloutFailedState), "Application shop, of shop-v1, on a:1: a:1 a:1 a:1 a:1",
		},
		"it is deleted in the middle": {nil, []func(*world){rollout}, gone, "Application shop, of shop-v2, on a:2: a:1 a:1 a:2 a:2"},
		"it is deleted, and reverts":  {reverts, []func(*world){rollout}, gone, "Application shop, of shop-v1, on a:1: a:1 a:1 a:1 a:1"},
		"it goes back to the source": {nil, []func(*world){func(w *world) {
			w.edit(func(r *oamv1beta1.AppRollout) {
				r.Spec.RolloutPlan.BatchPartition = nil
				r.Spec.TargetAppRevisionName, r.Spec.SourceAppRevisionName = r.Spec.SourceAppRevisionName, r.Spec.TargetAppRevisionName
			})
			w.look()
			w.until(is(rolloutv1alpha1.LocatingTargetAppState))
		}}, is(rolloutv1alpha1.RolloutSucceedState), "Application shop, of shop-v1, on a:1: a:1 a:1 a:1 a:1"},
		"the revisions are gone":             {nil, []func(*world){revisions, goesOn}, is(rolloutv1alpha1.RolloutSucceedState), "Application shop, of shop-v2, on a:2: a:2 a:2 a:2 a:2"},
		"the revisions are gone, then it is": {nil, []func(*world){revisions, rollout}, gone, "Application shop, of shop-v2, on a:2: a:1 a:1 a:2 a:2"},
		"it is reverted without revisions": { // the template from before is a revision of the workload itself
			nil, []func(*world){revisions, says(rolloutv1alpha1.AnnotationRevert)}, is(rolloutv1alpha1.RolloutFailedState), "Application shop, of shop-v2, on a:1: a:1 a:1 a:1 a:1",
		},
		"the application is gone, and what refers to it": {nil, []func(*world){revisions, func(w *world) {
			s := w.cloneSet()
			s.OwnerReferences = slices.DeleteFunc(s.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == "shop" })
			if err := w.Update(w.t.Context(), s); err != nil {
				w.t.Fatal(err)
			}
		}, rollout}, gone, "nobody, of shop-v2, on a:2: a:1 a:1 a:2 a:2"},
	} {
		t.Run(sentence, func(t *testing.T) {
			asks := inTheMiddle()
			if c.asks != nil {
				c.asks(asks)
			}
			w := newWorld(t, append(setsOf(t, nil, nil), deployed(set(t, "a:1"), 1, "cart", 1), asks)...)
			w.until(halfway)
			if got, want := w.set(), "AppRollout shop, held, of shop-v2, on a:2: a:1 a:1 a:2 a:2"; got != want {
				t.Errorf("halfway it is %s\nwant %s", got, want)
			}
			if !slices.ContainsFunc(w.cloneSet().OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == "shop" }) {
				t.Error("the application is none of its owners any more")
			}
			for _, then := range c.then {
				then(w)
			}
			w.comesTo(c.end, c.want)
		})
	}
}

// What only the source had goes when the target has all pods, and not before.
func TestWhatOnlyTheSourceHadGoesOnSuccess(t *testing.T) {
	first, second := extras(service(t, "cart"), service(t, "old"), service(t, "theirs")), extras(service(t, "cart"), service(t, "new"))
	theirs := service(t, "theirs")
	theirs.SetNamespace("web")
	for sentence, c := range map[string]struct {
		then func(*world)
		end  func(*oamv1beta1.AppRollout) bool
		want []string
	}{
		"it succeeds":    {goesOn, is(rolloutv1alpha1.RolloutSucceedState), []string{"cart", "new", "theirs"}},
		"it fails":       {says(rolloutv1alpha1.AnnotationAbort), is(rolloutv1alpha1.RolloutFailedState), []string{"cart", "new", "old", "theirs"}},
		"it is reverted": {says(rolloutv1alpha1.AnnotationRevert), is(rolloutv1alpha1.RolloutFailedState), []string{"cart", "new", "old", "theirs"}},
		"it is deleted":  {func(w *world) { w.remove(w.rollout()) }, gone, []string{"cart", "new", "old", "theirs"}},
		"the source is gone": {func(w *world) {
			w.remove(&oamv1beta1.ApplicationRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop-v1"}})
			goesOn(w)
		}, is(rolloutv1alpha1.RolloutSucceedState), []string{"cart", "new", "old", "theirs"}},
		"another takes it over": {func(w *world) {
			o, _ := find(w, &corev1.Service{}, "old")
			o.OwnerReferences = nil
			if err := w.Update(w.t.Context(), o); err != nil {
				w.t.Fatal(err)
			}
			goesOn(w)
		}, is(rolloutv1alpha1.RolloutSucceedState), []string{"cart", "new", "old", "theirs"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, append(setsOf(t, first, second), deployed(set(t, "a:1"), 1, "cart", 1), deployed(service(t, "cart"), 1, "cart", 1), deployed(service(t, "old"), 1, "cart", 1), theirs.DeepCopy(), inTheMiddle())...)
			w.until(halfway)
			if diff := cmp.Diff([]string{"cart", "new", "old", "theirs"}, there(w, &corev1.ServiceList{})); diff != "" {
				t.Errorf("halfway (-want +got):\n%s", diff)
			}
			c.then(w)
			w.until(c.end)
			if diff := cmp.Diff(c.want, there(w, &corev1.ServiceList{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An object can move from one component to another: it is the application's, and stays.
func TestWhatAnotherComponentHasByNowStays(t *testing.T) {
	pay := named(set(t, "p:1"), "pay")
	w := newWorld(t,
		revisionOf(t, "shop", 1, part{"cart", 1, set(t, "a:1"), extras(service(t, "front"), service(t, "old"))}, part{"pay", 1, pay, nil}),
		revisionOf(t, "shop", 2, part{"cart", 2, set(t, "a:2"), nil}, part{"pay", 1, pay, extras(service(t, "front"))}),
		deployed(set(t, "a:1"), 1, "cart", 1), deployed(service(t, "front"), 2, "pay", 1), deployed(service(t, "old"), 1, "cart", 1), asking("shop-v2", "shop-v1", component("cart")),
	)
	w.until(is(rolloutv1alpha1.RolloutSucceedState))
	if diff := cmp.Diff([]string{"front"}, there(w, &corev1.ServiceList{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Deployments take turns, and what scales them goes along.
func TestDeploymentsAreLetGoOnEveryEnding(t *testing.T) {
	hpa := func(least int) *unstructured.Unstructured { return scaler(t, deployment(t, ""), least) }
	rests := "cart scales cart-v1 to at least 1"
	for sentence, c := range map[string]struct {
		then        func(*world)
		end         func(*oamv1beta1.AppRollout) bool
		deployments []string
		scaler      string
	}{
		"it succeeds": {goesOn, is(rolloutv1alpha1.RolloutSucceedState), []string{"cart-v2 has 4"}, "cart scales cart-v2 to at least 2"},
		"it fails":    {says(rolloutv1alpha1.AnnotationAbort), is(rolloutv1alpha1.RolloutFailedState), []string{"cart-v1 has 2", "cart-v2 has 2"}, "cart scales cart-v1 to at least 3"},
		"it is reverted": {
			says(rolloutv1alpha1.AnnotationRevert), is(rolloutv1alpha1.RolloutFailedState), []string{"cart-v1 has 4", "cart-v2 has 0"}, "cart scales cart-v1 to at least 3",
		},
		"it is deleted": {func(w *world) { w.remove(w.rollout()) }, gone, []string{"cart-v1 has 2", "cart-v2 has 2"}, "cart scales cart-v1 to at least 3"},
		"it is deleted when its revisions are gone": { // nobody knows the bounds any more
			func(w *world) {
				w.remove(&oamv1beta1.ApplicationRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop-v1"}})
				w.remove(w.rollout())
			}, gone, []string{"cart-v1 has 2", "cart-v2 has 2"}, rests,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, append(deploymentsOf(t, extras(hpa(3)), extras(hpa(2))), named(deployed(deployment(t, "a:1"), 1, "cart", 1), "cart-v1"), deployed(hpa(3), 1, "cart", 1), inTheMiddle())...)
			w.until(halfway)
			if diff := cmp.Diff([]string{"cart-v1 has 2", "cart-v2 has 2"}, there(w, &appsv1.DeploymentList{})); diff != "" {
				t.Errorf("halfway (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{rests}, there(w, &autoscalingv2.HorizontalPodAutoscalerList{})); diff != "" {
				t.Errorf("halfway (-want +got):\n%s", diff)
			}
			c.then(w)
			w.until(c.end)
			if diff := cmp.Diff(c.deployments, there(w, &appsv1.DeploymentList{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{c.scaler}, there(w, &autoscalingv2.HorizontalPodAutoscalerList{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			list := &appsv1.DeploymentList{}
			if err := w.List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			for i := range list.Items {
				if d := &list.Items[i]; controllerOf(d) != "Application shop" || d.Labels[rolloutv1alpha1.LabelHeld] != "" {
					t.Errorf("%s is controlled by %s, and has the labels %v", d.Name, controllerOf(d), d.Labels)
				}
			}
		})
	}
}

// A third revision in the middle of a release takes its pods from where most are; and the rest go when it has all.
func TestADeploymentThatIsLeftOverGoesOnSuccess(t *testing.T) {
	old := func(n int) *unstructured.Unstructured {
		return named(deployed(deployment(t, fmt.Sprintf("a:%d", n)), n, "cart", n), fmt.Sprintf("cart-v%d", n))
	}
	left := old(3)
	_ = unstructured.SetNestedField(left.Object, int64(1), "spec", "replicas")
	for sentence, c := range map[string]struct {
		asks *oamv1beta1.AppRollout
		want []string
	}{
		"after pods have gone over":                                        {asking("shop-v2", "shop-v1"), []string{"cart-v2 has 4"}},
		"not after a scale: its pods serve, and nobody has asked for that": {asking("shop-v1", "", to(6)), []string{"cart-v1 has 6", "cart-v3 has 1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, append(deploymentsOf(t, nil, nil), old(1), left, c.asks)...)
			w.until(is(rolloutv1alpha1.RolloutSucceedState))
			if diff := cmp.Diff(c.want, there(w, &appsv1.DeploymentList{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A reader that fails is never in the way of letting go of a workload.
func TestWhatComesLastIsReadWhenTheWorkloadIsLetGo(t *testing.T) {
	w := newWorld(t, append(setsOf(t, extras(service(t, "old")), nil), deployed(set(t, "a:1"), 1, "cart", 1), deployed(service(t, "old"), 1, "cart", 1), asking("shop-v2", "shop-v1"))...)
	r := w.until(is(rolloutv1alpha1.FinalisingState))
	busy := errors.New("the server is busy")
	s, err := w.refusing("Service", busy).Subject(t.Context(), r)
	if err != nil {
		t.Fatalf("it is read before: %v", err)
	}
	if _, err := s.Last(t.Context()); !errors.Is(err, busy) {
		t.Errorf("it fails with %v", err)
	}
	if s, err = w.kind.Subject(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	last, err := s.Last(t.Context())
	if diff := cmp.Diff([]string{"delete Service old"}, lines(t, last)); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
}
