// SPDX-License-Identifier: Apache-2.0

package rolling_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/step"
)

// lines are steps for people: what is applied, with what moves pods, and what is deleted.
func lines(t *testing.T, steps []step.Step) []string {
	t.Helper()
	var all []string
	for _, s := range steps {
		switch s := s.(type) {
		case step.Apply:
			all = append(all, strings.TrimSpace(fmt.Sprintf("apply %s %s %s", s.Object.GetKind(), s.Object.GetName(), facts(s.Object))))
		case step.DeleteSet:
			all = append(all, fmt.Sprintf("delete %s %s", s.Set.GetObjectKind().GroupVersionKind().Kind, s.Target.Name))
		default:
			t.Fatalf("nobody expects a %T", s)
		}
	}
	return all
}

func facts(o *unstructured.Unstructured) string {
	var all []string
	add := func(name string, at ...string) {
		if value, has, _ := unstructured.NestedFieldNoCopy(o.Object, at...); has {
			text, _ := json.Marshal(value)
			all = append(all, name+"="+string(text))
		}
	}
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		all = append(all, fmt.Sprintf("image=%v", c.(map[string]any)["image"]))
	}
	add("replicas", "spec", "replicas")
	add("partition", "spec", "updateStrategy", "partition")
	add("selector", "spec", "selector", "matchLabels")
	add("scales", "spec", "scaleTargetRef", "name")
	add("least", "spec", "minReplicas")
	return strings.Join(all, " ")
}

// five is a workload that somebody has scaled since.
func five(o *unstructured.Unstructured) *unstructured.Unstructured {
	_ = unstructured.SetNestedField(o.Object, int64(5), "spec", "replicas")
	return o
}

func extras(all ...*unstructured.Unstructured) []*unstructured.Unstructured { return all }

// setsOf are both revisions of a CloneSet, and deploymentsOf those of a Deployment, with extras in each.
func setsOf(t *testing.T, first, second []*unstructured.Unstructured) []client.Object {
	return []client.Object{revisionOf(t, "shop", 1, part{"cart", 1, set(t, "a:1"), first}), revisionOf(t, "shop", 2, part{"cart", 2, set(t, "a:2"), second})}
}

func deploymentsOf(t *testing.T, first, second []*unstructured.Unstructured) []client.Object {
	return []client.Object{revisionOf(t, "shop", 1, part{"cart", 1, deployment(t, "a:1"), first}), revisionOf(t, "shop", 2, part{"cart", 2, deployment(t, "a:2"), second})}
}

const plain, apart = `selector={"app":"cart"}`, `selector={"app":"cart","app.oam.dev/revision":"cart-v2"}`

func TestTheTargetIsDeliveredSoThatNoPodMoves(t *testing.T) {
	live, old := deployed(set(t, "a:1"), 1, "cart", 1), named(deployed(deployment(t, "a:1"), 1, "cart", 1), "cart-v1")
	hpa := func(least int) *unstructured.Unstructured { return scaler(t, deployment(t, ""), least) }
	byHand := func(r *oamv1beta1.AppRollout) { r.Spec.RolloutPlan.Paused = true }
	for sentence, c := range map[string]struct {
		objects []client.Object
		asks    *oamv1beta1.AppRollout
		want    []string
	}{
		"the template and what holds its pods are one write": {
			append(setsOf(t, nil, nil), live), asking("shop-v2", "shop-v1"), []string{"apply CloneSet cart image=a:2 partition=4 " + plain},
		},
		"another target that comes before anything is claimed is delivered too": {
			append(setsOf(t, nil, nil), live), asking("shop-v2", "shop-v1", in(rolloutv1alpha1.VerifyingSpecState)), []string{"apply CloneSet cart image=a:2 partition=4 " + plain},
		},
		"one that was scaled keeps its size, and all of that is held": {
			append(setsOf(t, nil, nil), five(live.DeepCopy())), asking("shop-v2", "shop-v1"), []string{"apply CloneSet cart image=a:2 partition=5 " + plain},
		},
		"a new workload begins at no pods": {setsOf(t, nil, nil), asking("shop-v2", "", to(4)), []string{"apply CloneSet cart image=a:2 replicas=0 " + plain}},
		"a Deployment begins at no pods beside the older one, which stays as it is": {
			append(deploymentsOf(t, nil, nil), old), asking("shop-v2", "shop-v1"), []string{"apply Deployment cart-v2 image=a:2 replicas=0 " + apart},
		},
		"one that is there already is applied again without its size": {
			append(deploymentsOf(t, nil, nil), old, five(named(deployed(deployment(t, "a:2"), 1, "cart", 2), "cart-v2"))), asking("shop-v2", "shop-v1"),
			[]string{"apply Deployment cart-v2 image=a:2 " + plain},
		},
		"what is delivered is not delivered again": {
			append(setsOf(t, extras(service(t, "cart")), extras(service(t, "cart"))), deployed(set(t, "a:2"), 2, "cart", 2), deployed(service(t, "cart"), 2, "cart", 2)), asking("shop-v2", "shop-v1"), nil,
		},
		"extras come before the workload, and what scales its pods after it": {
			append(setsOf(t, nil, extras(scaler(t, set(t, ""), 2), service(t, "cart"), service(t, "other"))), live, deployed(service(t, "other"), 1, "cart", 1)), asking("shop-v2", "shop-v1"),
			[]string{"apply Service cart", "apply Service other", "apply CloneSet cart image=a:2 partition=4 " + plain, `apply HorizontalPodAutoscaler cart scales="cart" least=2`},
		},
		"a scale leaves what scales alone until it is done": {
			setsOf(t, nil, extras(scaler(t, set(t, ""), 2))), asking("shop-v2", "", to(4)), []string{"apply CloneSet cart image=a:2 replicas=0 " + plain},
		},
		"an autoscaler rests at the older Deployment": {
			append(deploymentsOf(t, extras(hpa(3)), extras(hpa(2))), old, deployed(hpa(3), 1, "cart", 1)), asking("shop-v2", "shop-v1"),
			[]string{`apply HorizontalPodAutoscaler cart scales="cart-v1" least=1`, "apply Deployment cart-v2 image=a:2 replicas=0 " + apart},
		},
		"one that rests there is left alone": {
			append(deploymentsOf(t, extras(hpa(3)), extras(hpa(2))), old, deployed(object(t, "autoscaling/v2", "HorizontalPodAutoscaler", "cart", map[string]any{
				"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart-v1"}, "minReplicas": 1,
			}), 1, "cart", 1)), asking("shop-v2", "shop-v1"), []string{"apply Deployment cart-v2 image=a:2 replicas=0 " + apart},
		},
		"one that the target is the first to have comes at the end": {
			append(deploymentsOf(t, nil, extras(hpa(2))), old), asking("shop-v2", "shop-v1"), []string{"apply Deployment cart-v2 image=a:2 replicas=0 " + apart},
		},
		"a pause holds it back": {append(setsOf(t, nil, nil), live), asking("shop-v2", "shop-v1", byHand), nil},
		"a workload that somebody else controls is left to the engine, which says whose it is": {
			append(setsOf(t, nil, nil), controlledBy(live, "RolloutTrait", "release")), asking("shop-v2", "shop-v1"), nil,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, c.objects...)
			s, err := w.kind.Subject(t.Context(), c.asks)
			if err != nil || s.Missing != "" {
				t.Fatalf("it says %q, and fails with %v", s.Missing, err)
			}
			if diff := cmp.Diff(c.want, lines(t, s.First)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, st := range s.First {
				a := st.(step.Apply).Object
				want := "shop-v2"
				if a.GetKind() == "HorizontalPodAutoscaler" && strings.Contains(facts(a), "cart-v1") {
					want = "shop-v1" // it is the source's
				}
				if got := a.GetLabels()[oamv1beta1.LabelAppRevision]; got != want || controllerOf(a) != "Application shop" || a.GetNamespace() != "web" {
					t.Errorf("%s %s is of %s and controlled by %s", a.GetKind(), a.GetName(), got, controllerOf(a))
				}
			}
		})
	}
}

func controlledBy(o *unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	o = o.DeepCopy()
	owner := ownerOf("shop")
	owner.Controller = nil
	o.SetOwnerReferences([]metav1.OwnerReference{owner, {APIVersion: "standard.oam.dev/v1alpha1", Kind: kind, Name: name, UID: "other", Controller: ptr.To(true)}})
	return o
}

// An object that was there before the application is not taken over, and the rollout says which one it is.
func TestWhatIsSomebodyElsesIsLeftAlone(t *testing.T) {
	someones := func(o *unstructured.Unstructured) *unstructured.Unstructured {
		o = o.DeepCopy()
		o.SetNamespace("web")
		o.SetUID("someone")
		return o
	}
	const left = " is there and is not Application shop's: delete it, or rename what the component makes"
	for sentence, c := range map[string]struct {
		objects []client.Object
		theirs  *unstructured.Unstructured
		want    string
	}{
		"an extra":             {append(setsOf(t, nil, extras(service(t, "cart"))), deployed(set(t, "a:1"), 1, "cart", 1)), someones(service(t, "cart")), "Service cart" + left},
		"a workload":           {setsOf(t, nil, nil), someones(set(t, "b:1")), "CloneSet cart" + left},
		"one apart":            {append(deploymentsOf(t, nil, nil), named(deployed(deployment(t, "a:1"), 1, "cart", 1), "cart-v1")), someones(named(deployment(t, "b:1"), "cart-v2")), "Deployment cart-v2" + left},
		"what scales":          {append(setsOf(t, nil, extras(scaler(t, set(t, ""), 2))), deployed(set(t, "a:1"), 1, "cart", 1)), someones(scaler(t, set(t, ""), 3)), "HorizontalPodAutoscaler cart" + left},
		"another controller's": {setsOf(t, nil, nil), controlledBy(deployed(set(t, "a:1"), 1, "cart", 1), "RolloutTrait", "release"), "CloneSet cart is controlled by RolloutTrait release"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, append(c.objects, c.theirs, asking("shop-v2", "shop-v1"))...)
			read := func() *unstructured.Unstructured {
				o := &unstructured.Unstructured{}
				o.SetGroupVersionKind(c.theirs.GroupVersionKind())
				if err := w.Get(t.Context(), client.ObjectKeyFromObject(c.theirs), o); err != nil {
					t.Fatal(err)
				}
				delete(o.Object, "status")
				o.SetResourceVersion("")
				return o
			}
			before := read()
			w.until(func(r *oamv1beta1.AppRollout) bool { return strings.Contains(r.Status.Message, c.want) })
			for range 3 {
				w.look()
			}
			if diff := cmp.Diff(before, read()); diff != "" {
				t.Errorf("it was changed:\n%s", diff)
			}
			if r := w.rollout(); !strings.Contains(r.Status.Message, c.want) {
				t.Errorf("it says %q", r.Status.Message)
			}
		})
	}
}

// Between two revisions that have the same pods there is only what stands beside them.
func TestARolloutWithoutOtherPodsTakesWhatStandsBesideThem(t *testing.T) {
	hpa := func(least int) *unstructured.Unstructured { return scaler(t, deployment(t, ""), least) }
	same := func(workload *unstructured.Unstructured, first, second []*unstructured.Unstructured) []client.Object {
		return []client.Object{revisionOf(t, "shop", 1, part{"cart", 1, workload, first}), revisionOf(t, "shop", 2, part{"cart", 1, workload, second})}
	}
	for sentence, c := range map[string]struct {
		objects  []client.Object
		services []string
		scalers  []string
	}{
		"in place": {
			append(same(set(t, "a:1"), extras(service(t, "old")), extras(service(t, "new"))), deployed(set(t, "a:1"), 1, "cart", 1), deployed(service(t, "old"), 1, "cart", 1)), []string{"new"}, nil,
		},
		"apart": {
			append(same(deployment(t, "a:1"), extras(service(t, "old"), hpa(2)), extras(service(t, "new"), hpa(3))), named(deployed(deployment(t, "a:1"), 1, "cart", 1), "cart-v1"),
				deployed(service(t, "old"), 1, "cart", 1), deployed(hpa(2), 1, "cart", 1)), []string{"new"}, []string{"cart scales cart-v1 to at least 3"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, append(c.objects, asking("shop-v2", "shop-v1"))...)
			w.until(is(rolloutv1alpha1.RolloutSucceedState))
			if diff := cmp.Diff(c.services, there(w, &corev1.ServiceList{})); diff != "" {
				t.Errorf("services (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.scalers, there(w, &autoscalingv2.HorizontalPodAutoscalerList{})); diff != "" {
				t.Errorf("autoscalers (-want +got):\n%s", diff)
			}
		})
	}
}
