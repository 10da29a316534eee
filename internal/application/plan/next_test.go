// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/internal/application/plan"
	"slipway.dev/slipway/internal/step"
)

const latest = "shop-v3"

// shop is an application with or without a plan.
func shop(batches *int32) *oamv1beta1.Application {
	app := &oamv1beta1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop", UID: "app"}}
	if batches != nil {
		app.Spec.RolloutPlan = &rolloutv1alpha1.RolloutPlan{NumBatches: batches}
	}
	return app
}

// inBatches and atOnce are an application whose components are these.
func inBatches(components ...plan.Component) plan.World {
	return plan.World{App: shop(ptr.To[int32](2)), Latest: latest, Components: components, Managers: []string{"slipway", "slipway-manager"}}
}

func atOnce(components ...plan.Component) plan.World {
	w := inBatches(components...)
	w.App = shop(nil)
	return w
}

// object is one of the application, deployed from a revision of it.
func object(kind, name, appRevision, revision string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion("test/v1")
	o.SetKind(kind)
	o.SetNamespace("web")
	o.SetName(name)
	o.SetUID(types.UID(kind + name))
	if appRevision != "" {
		component, _, _ := strings.Cut(name, "-")
		delivery.Application{Namespace: "web", Name: "shop", UID: "app"}.Mark(o, appRevision, &delivery.Component{Name: component, Revision: revision})
	}
	for _, c := range change {
		c(o)
	}
	return o
}

func pods(n int64) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(o.Object, n, "spec", "replicas"); err != nil {
			panic(err)
		}
	}
}

// workload says that an object was rendered as the workload of a component.
func workload(o *unstructured.Unstructured) {
	labels := o.GetLabels()
	labels[oamv1beta1.LabelWorkloadType] = "set"
	o.SetLabels(labels)
}

// sizedBy says who has written the size.
func sizedBy(manager string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)}})
	}
}

// component of a kind that holds two versions, or one: of 4 pods, on revision <name>-r3 in the latest.
func component(name, kind string, live ...*unstructured.Unstructured) plan.Component {
	c := plan.Component{Driven: true, Versions: kind == "Set", Sized: true, Size: 4, Live: live, Healthy: true}
	c.Name, c.Revision = name, name+"-r3"
	c.Workload = object(kind, name, "", "", pods(4))
	if current := plan.Current(&c); current != nil {
		c.Settled, c.Released = c.Workload.DeepCopy(), c.Workload.DeepCopy()
		c.Settled.SetName(current.GetName())
		c.Released.SetName(current.GetName())
		unstructured.RemoveNestedField(c.Settled.Object, "spec", "replicas")
	}
	return c
}

func extra(c plan.Component, rendered, live *unstructured.Unstructured) plan.Component {
	c.Extras, c.LiveExtras = append(c.Extras, rendered), append(c.LiveExtras, live)
	return c
}

// rollout is the AppRollout of the application, of a component to a revision.
func rollout(w plan.World, of, source, target string, state rolloutv1alpha1.RollingState, change ...func(*oamv1beta1.AppRollout)) plan.World {
	r := &oamv1beta1.AppRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop", UID: "rollout"}}
	r.Spec = oamv1beta1.AppRolloutSpec{TargetAppRevisionName: target, SourceAppRevisionName: source, ComponentList: []string{of}}
	if w.App.Spec.RolloutPlan != nil {
		r.Spec.RolloutPlan = *w.App.Spec.RolloutPlan.DeepCopy()
	}
	r.Status.RollingState = state
	for _, c := range change {
		c(r)
	}
	w.Rollout = r
	return w
}

// halfway is a workload whose pods are of two versions and held back, and nobody holds it.
func halfway(w plan.World) plan.World {
	c := &w.Components[0]
	c.Mixed, c.Healthy, c.Opened = true, false, c.Live[0]
	return w
}

// evenly is a template of rollouts whose workload is held back by nobody.
func evenly(w plan.World, even bool) plan.World {
	w.App.Spec.RolloutPlan = nil
	w.App.Annotations = map[string]string{oamv1beta1.AnnotationRolloutTemplate: "true"}
	c := &w.Components[0]
	c.Opened, c.Even, c.Mixed = c.Live[0], even, !even
	return w
}

func goesTo(n int32) func(*oamv1beta1.AppRollout) {
	return func(r *oamv1beta1.AppRollout) { r.Status.RolloutTargetSize = n }
}

func asked(n int32) func(*oamv1beta1.AppRollout) {
	return func(r *oamv1beta1.AppRollout) { r.Spec.RolloutPlan.TargetSize = ptr.To(n) }
}

const (
	succeeded = rolloutv1alpha1.RolloutSucceedState
	rolling   = rolloutv1alpha1.RollingInBatchesState
	failed    = rolloutv1alpha1.RolloutFailedState
)

// told is a plan as a test writes it.
func told(t *testing.T, p plan.Plan) string {
	t.Helper()
	var lines []string
	for _, s := range p.Steps {
		switch s := s.(type) {
		case step.Apply:
			lines = append(lines, "apply "+s.Subject()+rolls(t, s.Object)+sized(s.Object))
		case step.ChangeSet:
			lines = append(lines, "open "+s.Subject())
		case step.DeleteSet:
			kind := s.Set.GetObjectKind().GroupVersionKind().Kind
			if _, is := s.Set.(*oamv1beta1.AppRollout); is {
				kind = oamv1beta1.AppRolloutKind
			}
			lines = append(lines, "delete "+kind+" "+s.Subject())
		default:
			t.Fatalf("step %T", s)
		}
	}
	if p.Rolling != "" {
		lines = append(lines, "rolling: "+p.Rolling)
	}
	if p.Blocked != "" {
		lines = append(lines, "blocked: "+p.Blocked)
	}
	if p.Done {
		lines = append(lines, "done")
	}
	return strings.Join(lines, "\n")
}

// rolls is what an AppRollout asks for.
func rolls(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	if o.GetKind() != oamv1beta1.AppRolloutKind {
		return ""
	}
	at := func(fields ...string) string {
		value, _, err := unstructured.NestedFieldNoCopy(o.Object, append([]string{"spec"}, fields...)...)
		if err != nil {
			t.Fatal(err)
		}
		if value == nil {
			return "none"
		}
		return fmt.Sprint(value)
	}
	return fmt.Sprintf(": %s from %s to %s, size %s", at("componentList"), at("sourceAppRevisionName"), at("targetAppRevisionName"), at("rolloutPlan", "targetSize"))
}

func sized(o *unstructured.Unstructured) string {
	if n, has, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); has {
		return fmt.Sprintf(", %d pods", n)
	}
	return ""
}

func TestWhatIsDoneNext(t *testing.T) {
	service, old := object("Service", "cart", "", ""), object("Service", "cart", "shop-v2", "cart-r2")
	scaler := object("Scaler", "cart", "", "", func(o *unstructured.Unstructured) {
		o.Object["spec"] = map[string]any{"scaleTargetRef": map[string]any{"kind": "Set", "name": "cart"}}
	})
	gone := object("Set", "gone", "shop-v2", "gone-r1")
	now := object("Set", "cart", latest, "cart-r3", pods(4))
	before := object("Set", "cart", "shop-v2", "cart-r2", pods(4))
	pair := func(appRevision, revision string, n int64) *unstructured.Unstructured {
		return object("One", revision, appRevision, revision, pods(n))
	}
	template := shop(ptr.To[int32](2))
	template.Annotations = map[string]string{oamv1beta1.AnnotationRolloutTemplate: "true"}
	for sentence, c := range map[string]struct {
		world plan.World
		want  string
	}{
		"a template of rollouts is not deployed": {plan.World{App: template, Latest: latest, Components: []plan.Component{component("cart", "Set")}}, "done"},

		"without a plan all is applied at once": {atOnce(extra(component("cart", "Set"), service, nil), component("other", "One")),
			"apply Service cart\napply Set cart, 4 pods\napply One other, 4 pods"},
		"what is there already is left alone":         {atOnce(extra(component("cart", "Set", now), service, object("Service", "cart", latest, "cart-r3"))), "done"},
		"what is of an older revision is applied":     {atOnce(extra(component("cart", "Set", before), service, old)), "apply Service cart\napply Set cart, 4 pods"},
		"a size that an autoscaler has written stays": {atOnce(component("cart", "Set", object("Set", "cart", "shop-v2", "cart-r2", pods(9), sizedBy("autoscaler")))), "apply Set cart"},
		"one that we have written does not":           {atOnce(component("cart", "Set", object("Set", "cart", "shop-v2", "cart-r2", pods(9), sizedBy("slipway-manager")))), "apply Set cart, 4 pods"},
		"one that was rolled out keeps its name":      {atOnce(component("cart", "One", pair("shop-v2", "cart-r2", 4))), "apply One cart-r2, 4 pods"},
		"what is of somebody else stays as it is": {atOnce(extra(component("cart", "Set", now), service, object("Service", "cart", "", ""))),
			"blocked: Service cart is there, and is not this application's: delete it, or rename what the component makes"},
		"a workload of somebody else too": {func() plan.World {
			w := atOnce(component("cart", "Set"))
			w.Components[0].Named = object("Set", "cart", "", "")
			return w
		}(), "blocked: Set cart is there, and is not this application's: delete it, or rename what the component makes"},
		"what a rollout has begun at no pods gets them": {atOnce(component("cart", "One", pair(latest, "cart-r3", 0), pair("shop-v2", "cart-r2", 4))), "apply One cart-r3, 4 pods"},
		"also when an autoscaler has the say then": {func() plan.World {
			w := atOnce(extra(component("cart", "One", pair(latest, "cart-r3", 0)), scaler, object("Scaler", "cart", latest, "cart-r3")))
			return w
		}(), "apply One cart-r3, 4 pods"},
		"what a rollout has left is opened": {func() plan.World {
			w := atOnce(component("cart", "Set", now))
			w.Components[0].Opened = now
			return w
		}(), "open cart"},
		"a rollout under way ends first": {rollout(atOnce(component("cart", "Set", before)), "cart", "shop-v1", "shop-v2", rolling), "delete AppRollout shop\nrolling: waits until the rollout has let the workloads go: there is no rolloutPlan any more"},
		"what is in no component goes last": {func() plan.World {
			w := atOnce(component("cart", "Set", now))
			w.Applied = []*unstructured.Unstructured{now, gone}
			return w
		}(), "delete Set gone"},
		"but not before all else is applied": {func() plan.World {
			w := atOnce(component("cart", "Set"))
			w.Applied = []*unstructured.Unstructured{gone}
			return w
		}(), "apply Set cart, 4 pods"},
		"and not what is no longer ours": {func() plan.World {
			w := atOnce(component("cart", "Set", now))
			w.Applied = []*unstructured.Unstructured{object("Set", "gone", "", "")}
			return w
		}(), "done"},
		"an older workload stays while the newer one lacks pods": {func() plan.World {
			w := atOnce(component("cart", "One", pair(latest, "cart-r3", 4), pair("shop-v2", "cart-r2", 2)))
			w.Components[0].Healthy = false
			return w
		}(), "done"},
		"and goes when it has all": {atOnce(component("cart", "One", pair(latest, "cart-r3", 4), pair("shop-v2", "cart-r2", 2))), "delete One cart-r2"},

		"what has another kind now stays while its successor lacks pods": {func() plan.World {
			w := atOnce(component("cart", "Set", now))
			w.Components[0].Healthy = false
			w.Applied = []*unstructured.Unstructured{object("One", "cart", "shop-v2", "cart-r2", workload)}
			return w
		}(), "done"},
		"and goes when that has all": {func() plan.World {
			w := atOnce(component("cart", "Set", now))
			w.Applied = []*unstructured.Unstructured{object("One", "cart", "shop-v2", "cart-r2", workload)}
			return w
		}(), "delete One cart"},
		"what a component had beside its workload goes at once": {func() plan.World {
			w := atOnce(component("cart", "Set", now))
			w.Components[0].Healthy = false
			w.Applied = []*unstructured.Unstructured{object("Service", "cart", "shop-v2", "cart-r2")}
			return w
		}(), "delete Service cart"},
		"nobody knows of a kind that nobody can roll out when its pods are there": {func() plan.World {
			w := atOnce(component("cart", "Job", object("Job", "cart", latest, "cart-r3", pods(4))))
			w.Components[0].Driven, w.Components[0].Healthy = false, false
			w.Applied = []*unstructured.Unstructured{object("One", "cart", "shop-v2", "cart-r2", workload)}
			return w
		}(), "delete One cart"},

		"a first release goes from none to its size": {inBatches(component("cart", "Set")), "apply AppRollout shop: [cart] from none to shop-v3, size 4\nrolling: component cart"},
		"one that has no pods yet as well":           {inBatches(component("cart", "Set", object("Set", "cart", "shop-v2", "cart-r2", pods(0)))), "apply AppRollout shop: [cart] from none to shop-v3, size 4\nrolling: component cart"},
		"an update goes from what is deployed":       {inBatches(component("cart", "Set", before)), "apply AppRollout shop: [cart] from shop-v2 to shop-v3, size none\nrolling: component cart"},
		"one under way is left alone":                {rollout(inBatches(component("cart", "Set", now)), "cart", "shop-v2", latest, rolling), "rolling: component cart"},
		"one that has failed too":                    {rollout(inBatches(component("cart", "Set", now)), "cart", "shop-v2", latest, failed), "rolling: component cart"},
		"a newer revision takes its place":           {rollout(inBatches(component("cart", "Set", before)), "cart", "shop-v1", "shop-v2", rolling), "apply AppRollout shop: [cart] from shop-v1 to shop-v3, size none\nrolling: component cart"},
		"also when only another component is new":    {rollout(inBatches(component("cart", "Set", object("Set", "cart", "shop-v2", "cart-r3", pods(4)))), "cart", "shop-v1", "shop-v2", rolling), "apply AppRollout shop: [cart] from shop-v1 to shop-v3, size none\nrolling: component cart"},
		"the next one follows when it has succeeded": {rollout(inBatches(component("cart", "Set", now), component("other", "Set")), "cart", "shop-v2", latest, succeeded),
			"apply AppRollout shop: [other] from none to shop-v3, size 4\nrolling: component other"},
		"a component between two versions comes first": {rollout(inBatches(component("cart", "Set", before), component("other", "Set", object("Set", "other", "shop-v2", "other-r2", pods(4)))), "other", "shop-v1", "shop-v2", rolling),
			"apply AppRollout shop: [other] from shop-v1 to shop-v3, size none\nrolling: component other"},
		"a rollout of a component that is gone ends": {rollout(inBatches(component("cart", "Set", before)), "gone", "shop-v1", "shop-v2", rolling), "delete AppRollout shop\nrolling: waits until the rollout has let go of a component that is gone"},
		"somebody else's rollout is in the way": {func() plan.World {
			w := rollout(inBatches(component("cart", "Set")), "x", "", "y", rolling)
			w.Someone = "Other x"
			return w
		}(), "blocked: AppRollout shop is there, and is not this application's but Other x's: delete it, or rename the application"},
		"of workloads apart the one with most pods is the source": {rollout(inBatches(component("cart", "One", pair("shop-v1", "cart-r1", 7), pair("shop-v2", "cart-r2", 3))), "cart", "shop-v1", "shop-v2", rolling, goesTo(10)),
			"apply AppRollout shop: [cart] from shop-v1 to shop-v3, size 10\nrolling: component cart"},
		"going back it is the other one": {rollout(inBatches(component("cart", "One", pair("shop-v1", "cart-r3", 7), pair("shop-v2", "cart-r2", 3))), "cart", "shop-v1", "shop-v2", rolling, goesTo(10)),
			"apply AppRollout shop: [cart] from shop-v2 to shop-v3, size 10\nrolling: component cart"},
		"what a rollout was asked for counts when it has not begun": {rollout(inBatches(component("cart", "One", pair("shop-v1", "cart-r1", 7), pair("shop-v2", "cart-r2", 3))), "cart", "shop-v1", "shop-v2", rolling, goesTo(-1), asked(10)),
			"apply AppRollout shop: [cart] from shop-v1 to shop-v3, size 10\nrolling: component cart"},
		"nor when it was asked for too few": {rollout(inBatches(component("cart", "One", pair("shop-v2", "cart-r2", 5), pair(latest, "cart-r3", 0))), "cart", "shop-v2", latest, failed, asked(1)),
			"apply AppRollout shop: [cart] from shop-v2 to shop-v3, size 5\nrolling: component cart"},
		"but no fewer than there are by now": {rollout(inBatches(component("cart", "One", pair("shop-v2", "cart-r2", 5))), "cart", "", "shop-v2", rolling, goesTo(0), asked(1)),
			"apply AppRollout shop: [cart] from shop-v2 to shop-v3, size 5\nrolling: component cart"},
		"what is asked for does not follow the pods":            {rollout(inBatches(component("cart", "One", pair("shop-v1", "cart-r1", 3), pair(latest, "cart-r3", 7))), "cart", "shop-v1", latest, rolling, goesTo(10), asked(10)), "rolling: component cart"},
		"with its template as it was a workload is only marked": {inBatches(extra(component("cart", "Set", object("Set", "cart", "shop-v2", "cart-r3", pods(4))), service, old)), "apply Service cart\napply Set cart"},
		"another size is a rollout of its own":                  {rollout(inBatches(component("cart", "Set", object("Set", "cart", latest, "cart-r3", pods(9)))), "cart", "shop-v2", latest, succeeded), "apply AppRollout shop: [cart] from none to shop-v3, size 4\nrolling: component cart"},
		"to a size that the plan says it goes once": {func() plan.World {
			w := inBatches(component("cart", "Set", object("Set", "cart", latest, "cart-r3", pods(9))))
			w.App.Spec.RolloutPlan.TargetSize = ptr.To[int32](9)
			return rollout(w, "cart", "", latest, succeeded)
		}(), "done"},
		"what is deleted after a rollout is rolled out anew": {rollout(inBatches(component("cart", "Set")), "cart", "", latest, succeeded, asked(4)), "delete AppRollout shop\nrolling: component cart"},
		"when the one before is gone": {rollout(inBatches(component("cart", "Set")), "cart", "", latest, succeeded, asked(4), func(r *oamv1beta1.AppRollout) {
			r.DeletionTimestamp = ptr.To(metav1.Now())
		}), "rolling: component cart"},
		"but not against an autoscaler": {inBatches(extra(component("cart", "Set", object("Set", "cart", latest, "cart-r3", pods(9))), scaler, object("Scaler", "cart", latest, "cart-r3"))), "done"},
		"nor against a person":          {inBatches(component("cart", "Set", object("Set", "cart", latest, "cart-r3", pods(9), sizedBy("kubectl")))), "done"},
		"what a rollout that had nothing to do has left held back is opened": {func() plan.World {
			w := inBatches(component("cart", "Set", now))
			w.Components[0].Opened = now
			return rollout(w, "cart", "shop-v2", latest, succeeded)
		}(), "open cart"},
		"a template of rollouts: what one has left held back is opened when all pods are on its template": {evenly(inBatches(component("cart", "Set", before)), true), "open cart"},
		"but not what has pods of two versions, or too few":                                               {evenly(inBatches(component("cart", "Set", before)), false), "done"},
		"one that was taken away before it gave a workload its first pods is put back, also where an autoscaler has the say": {
			inBatches(extra(component("cart", "Set", object("Set", "cart", latest, "cart-r3", pods(0))), scaler, object("Scaler", "cart", latest, "cart-r3"))),
			"apply AppRollout shop: [cart] from none to shop-v3, size 4\nrolling: component cart",
		},
		"but not where an autoscaler, or a person, wants none": {
			inBatches(extra(component("cart", "Set", object("Set", "cart", latest, "cart-r3", pods(0), sizedBy("kubectl"))), scaler, object("Scaler", "cart", latest, "cart-r3"))), "done",
		},
		"but not before all its pods are there": {func() plan.World {
			w := inBatches(component("cart", "Set", now))
			w.Components[0].Opened, w.Components[0].Healthy = now, false
			return rollout(w, "cart", "shop-v2", latest, succeeded)
		}(), "done"},
		"a rollout that somebody has taken away in the middle is put back": {halfway(inBatches(component("cart", "Set", now))),
			"apply AppRollout shop: [cart] from none to shop-v3, size 4\nrolling: component cart"},
		"with the source that it had": {func() plan.World {
			w := halfway(inBatches(component("cart", "Set", now)))
			w.App.Status.Rollout = &oamv1beta1.AppRolloutStatus{LastTargetAppRevision: latest, LastSourceAppRevision: "shop-v2", Component: "cart"}
			return w
		}(), "apply AppRollout shop: [cart] from shop-v2 to shop-v3, size none\nrolling: component cart"},
		"but not the one of another component": {func() plan.World {
			w := halfway(inBatches(component("cart", "Set", now)))
			w.App.Status.Rollout = &oamv1beta1.AppRolloutStatus{LastTargetAppRevision: latest, LastSourceAppRevision: "shop-v2", Component: "other"}
			return w
		}(), "apply AppRollout shop: [cart] from none to shop-v3, size 4\nrolling: component cart"},
		"before its size is looked at": {halfway(inBatches(component("cart", "Set", object("Set", "cart", latest, "cart-r3", pods(9))))),
			"apply AppRollout shop: [cart] from none to shop-v3, size 9\nrolling: component cart"},
		"and goes on": {rollout(halfway(inBatches(component("cart", "Set", now))), "cart", "", latest, rolling, asked(4)), "rolling: component cart"},
		"one of workloads apart is put back from the one that still has pods": {func() plan.World {
			w := inBatches(component("cart", "One", pair("shop-v2", "cart-r2", 3), pair(latest, "cart-r3", 1)))
			w.App.Status.Rollout = &oamv1beta1.AppRolloutStatus{LastTargetAppRevision: latest, LastSourceAppRevision: "shop-v2", Component: "cart"}
			w.App.Status.Rollout.RolloutTargetSize = 5
			return w
		}(), "apply AppRollout shop: [cart] from shop-v2 to shop-v3, size 5\nrolling: component cart"},
		"with all pods that there are when nobody knows their number": {inBatches(component("cart", "One", pair("shop-v2", "cart-r2", 3), pair(latest, "cart-r3", 2))),
			"apply AppRollout shop: [cart] from shop-v2 to shop-v3, size 5\nrolling: component cart"},
		"also where an autoscaler has the say": {inBatches(extra(component("cart", "One", pair("shop-v2", "cart-r2", 3), pair(latest, "cart-r3", 4)), scaler, object("Scaler", "cart", latest, "cart-r3"))),
			"apply AppRollout shop: [cart] from shop-v2 to shop-v3, size 7\nrolling: component cart"},
		"one that has given all its pods goes": {inBatches(component("cart", "One", pair("shop-v2", "cart-r2", 0), pair(latest, "cart-r3", 4))), "delete One cart-r2"},
		"a kind that nobody can roll out is applied": {func() plan.World {
			w := inBatches(component("cart", "Job"), component("other", "Set"))
			w.Components[0].Driven = false
			return w
		}(), "apply Job cart, 4 pods\napply AppRollout shop: [other] from none to shop-v3, size 4\nrolling: component other"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(strings.Split(c.want, "\n"), strings.Split(told(t, plan.Next(c.world)), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Everything that is applied is the application's, and says which revision it is from.
func TestWhatIsAppliedSaysWhoseItIs(t *testing.T) {
	w := inBatches(extra(component("cart", "Set", object("Set", "cart", "shop-v2", "cart-r3", pods(4))), object("Service", "cart", "", ""), nil))
	steps := plan.Next(w).Steps
	if len(steps) != 2 {
		t.Fatalf("got %d steps", len(steps))
	}
	for _, s := range steps {
		o := s.(step.Apply).Object
		if !delivery.Is(o, latest) || delivery.RevisionOf(o) != "cart-r3" || !w.Owns(o) || o.GetNamespace() != "web" {
			t.Errorf("%s has labels %v and owners %v", s.Subject(), o.GetLabels(), o.GetOwnerReferences())
		}
	}
	if slices.ContainsFunc(w.Components[0].Extras, func(o *unstructured.Unstructured) bool { return len(o.GetLabels()) > 0 }) {
		t.Error("what was rendered has changed")
	}
}
