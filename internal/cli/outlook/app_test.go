// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/delivery"
	"slipway.dev/slipway/test/golden"
)

// shopApp is the application that the revisions of these tests are of.
var shopApp = delivery.Application{Namespace: "shop", Name: "shop", UID: "shop-uid"}

// component is what one revision has of a component. Its own revision is numbered, too.
type component struct {
	name     string
	number   int
	workload *unstructured.Unstructured
	extras   []*unstructured.Unstructured
}

func (c component) revision() string { return fmt.Sprintf("%s-v%d", c.name, c.number) }

// rendered is an object as a template makes it.
func rendered(t testing.TB, apiVersion, kind, name string, change fields) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName(name)
	put(t, o, change)
	return o
}

// renderedSet is a workload of six pods as a template makes it, whose pods have that tag of the image.
func renderedSet(t testing.TB, apiVersion, kind, tag string, change fields) *unstructured.Unstructured {
	t.Helper()
	o := rendered(t, apiVersion, kind, "cart", fields{"spec.replicas": int64(6), "spec.selector.matchLabels.app": "cart", "spec.template": template("cart", tag)})
	if kind == "DaemonSet" {
		put(t, o, fields{"spec.replicas": nil})
	}
	put(t, o, change)
	return o
}

// appRevision adds revision N of the application.
func (s *scene) appRevision(number int, parts ...component) {
	s.t.Helper()
	r := &oamv1beta1.ApplicationRevision{TypeMeta: metav1.TypeMeta{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationRevisionKind}}
	r.Namespace, r.Name, r.Spec.Revision = "shop", fmt.Sprintf("shop-v%d", number), int64(number)
	r.OwnerReferences = []metav1.OwnerReference{{APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind, Name: shopApp.Name, UID: shopApp.UID, Controller: ptr.To(true)}}
	raw := func(o *unstructured.Unstructured) *runtime.RawExtension {
		text, err := o.MarshalJSON()
		if err != nil {
			s.t.Fatal(err)
		}
		return &runtime.RawExtension{Raw: text}
	}
	for _, p := range parts {
		of := oamv1beta1.ComponentRevision{Name: p.name, Revision: p.revision(), Workload: raw(p.workload)}
		for _, extra := range p.extras {
			of.Resources = append(of.Resources, oamv1beta1.RenderedResource{Name: extra.GetName(), Object: *raw(extra)})
		}
		r.Spec.ComponentRevisions = append(r.Spec.ComponentRevisions, of)
	}
	s.objects = append(s.objects, r)
}

// deployed has an object be one of the application's, in revision N of that.
func deployed(o *unstructured.Unstructured, number int, of component) *unstructured.Unstructured {
	shopApp.Mark(o, fmt.Sprintf("shop-v%d", number), &delivery.Component{Name: of.name, Revision: of.revision()})
	if o.GetUID() == "" {
		o.SetUID(types.UID(o.GetKind() + " " + o.GetName()))
	}
	return o
}

// lives adds an object that stands beside a workload.
func (s *scene) lives(o *unstructured.Unstructured, number int, of component) {
	s.objects = append(s.objects, deployed(o.DeepCopy(), number, of))
}

// between is an AppRollout in these batches. Without a source it is a scale.
func between(target, source string, sizes ...any) *oamv1beta1.AppRollout {
	r := &oamv1beta1.AppRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}}
	r.Spec.TargetAppRevisionName, r.Spec.SourceAppRevisionName = target, source
	r.Spec.RolloutPlan = rollout(&unstructured.Unstructured{Object: map[string]any{}}, sizes...).Spec.RolloutPlan
	return r
}

// updated is a component of one workload that has another image in the second revision. The first is deployed, with six pods.
func (s *scene) updated(apiVersion, kind string) {
	s.t.Helper()
	v1 := component{"cart", 1, renderedSet(s.t, apiVersion, kind, "v1", nil), nil}
	v2 := component{"cart", 2, renderedSet(s.t, apiVersion, kind, "v2", nil), nil}
	s.appRevision(1, v1)
	s.appRevision(2, v2)
	deployed(s.workload(apiVersion, kind, "cart", 6, opened[apiVersion+" "+kind]), 1, v1)
}

// opened is how kinds that can update in place are set to.
var opened = map[string]fields{
	kruise + " CloneSet":     {"spec.updateStrategy.type": "InPlaceIfPossible"},
	kruise2 + " StatefulSet": {"spec.updateStrategy.rollingUpdate.podUpdatePolicy": "InPlaceIfPossible"},
}

func TestForwardBetweenRevisions(t *testing.T) {
	for name, kind := range map[string][2]string{
		"app-cloneset": {kruise, "CloneSet"}, "app-advanced-statefulset": {kruise2, "StatefulSet"}, "app-statefulset": {"apps/v1", "StatefulSet"},
		"app-daemonset": {"apps/v1", "DaemonSet"}, "app-inplaceset": {cafe, "InPlaceSet"}, "app-cafedeployment": {cafe, "CafeDeployment"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{t: t}
			s.updated(kind[0], kind[1])
			golden.Lines(t, name+".txt", s.foresee(between("shop-v2", "shop-v1", 1, "50%", nil), nil).Lines(false))
		})
	}
}

// apart is a component of Deployments. The older one lives, under that name, and an autoscaler if that is asked for.
func (s *scene) apart(name string, scaled bool) {
	s.t.Helper()
	v1, v2 := component{"cart", 1, renderedSet(s.t, "apps/v1", "Deployment", "v1", nil), nil}, component{"cart", 2, renderedSet(s.t, "apps/v1", "Deployment", "v2", nil), nil}
	if scaled {
		scaler := rendered(s.t, "autoscaling/v2", "HorizontalPodAutoscaler", "cart", fields{
			"spec.minReplicas": int64(3), "spec.maxReplicas": int64(9), "spec.scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart"},
		})
		v1.extras, v2.extras = append(v1.extras, scaler), append(v2.extras, scaler)
		live := scaler.DeepCopy()
		delivery.PointAt(live, name)
		s.lives(live, 1, v1)
	}
	s.appRevision(1, v1)
	s.appRevision(2, v2)
	deployed(s.workload("apps/v1", "Deployment", name, 6, nil), 1, v1)
}

func TestWhatIsForeseenBetweenRevisions(t *testing.T) {
	for name, make := range map[string]func(*scene) *oamv1beta1.AppRollout{
		"app-deployments": func(s *scene) *oamv1beta1.AppRollout {
			s.apart("cart-v1", false)
			return between("shop-v2", "shop-v1", 1, "50%", nil)
		},
		"app-deployments-with-an-autoscaler": func(s *scene) *oamv1beta1.AppRollout {
			s.apart("cart", true)
			return between("shop-v2", "shop-v1", 2, nil)
		},
		"app-what-stands-beside": func(s *scene) *oamv1beta1.AppRollout {
			beside := func(name string) *unstructured.Unstructured { return rendered(s.t, "v1", "Service", name, nil) }
			v1 := component{"cart", 1, renderedSet(s.t, kruise, "CloneSet", "v1", nil), []*unstructured.Unstructured{beside("cart"), beside("old")}}
			v2 := component{"cart", 2, renderedSet(s.t, kruise, "CloneSet", "v2", nil), []*unstructured.Unstructured{beside("cart"), beside("new")}}
			s.appRevision(1, v1)
			s.appRevision(2, v2)
			s.lives(v1.extras[0], 1, v1)
			s.lives(v1.extras[1], 1, v1)
			deployed(s.workload(kruise, "CloneSet", "cart", 6, opened[kruise+" CloneSet"]), 1, v1)
			return between("shop-v2", "shop-v1", 2, nil)
		},
		"app-a-field-is-taken-away": func(s *scene) *oamv1beta1.AppRollout {
			withMode := func(o *unstructured.Unstructured) *unstructured.Unstructured {
				containers := o.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
				containers[0].(map[string]any)["env"] = []any{map[string]any{"name": "MODE", "value": "old"}}
				return o
			}
			v1 := component{"cart", 1, withMode(renderedSet(s.t, kruise, "CloneSet", "v1", nil)), nil}
			v2 := component{"cart", 2, renderedSet(s.t, kruise, "CloneSet", "v1", nil), nil}
			s.appRevision(1, v1)
			s.appRevision(2, v2)
			live := withMode(rendered(s.t, kruise, "CloneSet", "cart", fields{"spec.template": template("cart", "v1")}))
			deployed(s.workload(kruise, "CloneSet", "cart", 3, fields{"spec.template": live.Object["spec"].(map[string]any)["template"]}), 1, v1)
			return between("shop-v2", "shop-v1", 1, nil)
		},
		"app-scale": func(s *scene) *oamv1beta1.AppRollout {
			s.updated(kruise, "CloneSet")
			r := between("shop-v1", "", 1, nil)
			r.Spec.RolloutPlan.TargetSize = ptr.To[int32](9)
			return r
		},
		"app-first-release": func(s *scene) *oamv1beta1.AppRollout {
			s.appRevision(1, component{"cart", 1, renderedSet(s.t, kruise, "CloneSet", "v1", nil), []*unstructured.Unstructured{rendered(s.t, "v1", "Service", "cart", nil)}})
			r := between("shop-v1", "", 1, nil)
			r.Spec.RolloutPlan.TargetSize = ptr.To[int32](4)
			return r
		},
		"app-first-release-apart": func(s *scene) *oamv1beta1.AppRollout {
			s.appRevision(1, component{"cart", 1, renderedSet(s.t, "apps/v1", "Deployment", "v1", nil), nil})
			r := between("shop-v1", "", 1, nil)
			r.Spec.RolloutPlan.TargetSize = ptr.To[int32](4)
			return r
		},
		"app-only-what-stands-beside": func(s *scene) *oamv1beta1.AppRollout {
			v1 := component{"cart", 1, renderedSet(s.t, kruise, "CloneSet", "v1", nil), []*unstructured.Unstructured{rendered(s.t, "v1", "Service", "old", nil)}}
			v2 := component{"cart", 1, v1.workload, []*unstructured.Unstructured{rendered(s.t, "v1", "Service", "new", nil)}}
			s.appRevision(1, v1)
			s.appRevision(2, v2)
			s.lives(v1.extras[0], 1, v1)
			deployed(s.workload(kruise, "CloneSet", "cart", 6, opened[kruise+" CloneSet"]), 1, v1)
			return between("shop-v2", "shop-v1", 1, nil)
		},
		"app-no-revision-of-the-deployment": func(s *scene) *oamv1beta1.AppRollout {
			s.apart("cart-v1", false)
			s.objects = slices.DeleteFunc(s.objects, func(o client.Object) bool { return o.GetName() == "cart-v1" })
			return between("shop-v2", "shop-v1", 1, nil)
		},
		"app-paused": func(s *scene) *oamv1beta1.AppRollout {
			s.updated(kruise, "CloneSet")
			r := between("shop-v2", "shop-v1", 3, nil)
			r.Spec.RolloutPlan.Paused = true
			return r
		},
		"app-one-of-several": func(s *scene) *oamv1beta1.AppRollout {
			s.several()
			r := between("shop-v2", "shop-v1", 2, nil)
			r.Spec.ComponentList = []string{"cart"}
			return r
		},
		"app-which-of-several": func(s *scene) *oamv1beta1.AppRollout {
			s.several()
			return between("shop-v2", "shop-v1", 2, nil)
		},
		"app-waits-for-a-person": func(s *scene) *oamv1beta1.AppRollout {
			s.updated(kruise, "CloneSet")
			r := between("shop-v2", "shop-v1", 1, nil)
			r.Spec.RolloutPlan.BatchPartition = ptr.To[int32](0)
			return r
		},
		"app-batches-that-do-not-add-up": func(s *scene) *oamv1beta1.AppRollout {
			s.updated(kruise, "CloneSet")
			return between("shop-v2", "shop-v1", 4, 4)
		},
		"app-no-target": func(s *scene) *oamv1beta1.AppRollout {
			s.updated(kruise, "CloneSet")
			return between("shop-v3", "shop-v1", 1, nil)
		},
		"app-no-source": func(s *scene) *oamv1beta1.AppRollout {
			s.updated(kruise, "CloneSet")
			return between("shop-v2", "shop-v0", 1, nil)
		},
		"app-of-no-application": func(s *scene) *oamv1beta1.AppRollout {
			s.updated(kruise, "CloneSet")
			s.objects[0].SetOwnerReferences(nil)
			s.objects[1].SetOwnerReferences(nil)
			return between("shop-v2", "shop-v1", 1, nil)
		},
		"app-another-kind": func(s *scene) *oamv1beta1.AppRollout {
			s.updated(kruise, "CloneSet")
			s.appRevision(3, component{"cart", 3, renderedSet(s.t, "apps/v1", "Deployment", "v3", nil), nil})
			return between("shop-v3", "shop-v1", 1, nil)
		},
		"app-somebody-elses": func(s *scene) *oamv1beta1.AppRollout {
			s.updated(kruise, "CloneSet")
			for _, o := range s.objects {
				if o.GetName() == "cart" {
					o.SetOwnerReferences(nil)
				}
			}
			return between("shop-v2", "shop-v1", 1, nil)
		},
		"app-nothing-new": func(s *scene) *oamv1beta1.AppRollout {
			v1 := component{"cart", 1, renderedSet(s.t, kruise, "CloneSet", "v1", nil), nil}
			s.appRevision(1, v1)
			s.appRevision(2, v1)
			deployed(s.workload(kruise, "CloneSet", "cart", 6, opened[kruise+" CloneSet"]), 2, v1)
			return between("shop-v2", "shop-v1", 1, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{t: t}
			golden.Lines(t, name+".txt", s.foresee(make(s), nil).Lines(false))
		})
	}
}

// several adds two components that both have another image in the second revision.
func (s *scene) several() {
	s.updated(kruise, "CloneSet")
	other := renderedSet(s.t, "apps/v1", "StatefulSet", "v1", nil)
	other.SetName("db")
	for i := range 2 {
		of := s.objects[i].(*oamv1beta1.ApplicationRevision)
		raw, err := other.MarshalJSON()
		if err != nil {
			s.t.Fatal(err)
		}
		of.Spec.ComponentRevisions = append(of.Spec.ComponentRevisions, oamv1beta1.ComponentRevision{Name: "db", Revision: "db-v1", Workload: &runtime.RawExtension{Raw: raw}})
	}
}

// A rollout between revisions that has begun goes on from its status.
func TestHalfwayBetweenRevisions(t *testing.T) {
	for name, change := range map[string]func(*oamv1beta1.AppRollout){
		"app-halfway-promoted": func(r *oamv1beta1.AppRollout) { r.Spec.RolloutPlan.BatchPartition = nil },
		"app-halfway-back": func(r *oamv1beta1.AppRollout) {
			r.Spec.TargetAppRevisionName, r.Spec.SourceAppRevisionName, r.Spec.RolloutPlan.BatchPartition = "shop-v1", "shop-v2", nil
		},
		"app-halfway-deleted": func(r *oamv1beta1.AppRollout) {
			r.DeletionTimestamp, r.Spec.RevertOnDelete = ptr.To(metav1.NewTime(now)), ptr.To(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{t: t}
			s.updated(kruise, "CloneSet")
			r := between("shop-v2", "shop-v1", 2, "50%", nil)
			r.UID, r.Spec.RolloutPlan.BatchPartition = "r-uid", ptr.To[int32](0)
			later, before := halfway(s, r)
			for _, o := range s.objects {
				if _, is := o.(*oamv1beta1.ApplicationRevision); is {
					later.objects = append(later.objects, o)
				}
			}
			after := before.DeepCopyObject().(*oamv1beta1.AppRollout)
			change(after)
			golden.Lines(t, name+".txt", later.foresee(after, before).Lines(false))
		})
	}
}

// Who may not read what the rollout is about is told so, and not that the controller may not.
func TestWhatMayNotBeReadIsAnError(t *testing.T) {
	s := &scene{t: t}
	s.updated(kruise, "CloneSet")
	in := s.input(between("shop-v2", "shop-v1", 1, nil), nil)
	in.Live = refusing{in.Live}
	_, err := Of(t.Context(), in, now)
	if !apierrors.IsForbidden(err) {
		t.Errorf("it ends with %v", err)
	}
}
