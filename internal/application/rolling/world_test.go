// SPDX-License-Identifier: Apache-2.0

package rolling_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/rolling"
	"slipway.dev/slipway/internal/rollout"
	"slipway.dev/slipway/internal/rollout/adapter"
	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/hook"
	"slipway.dev/slipway/internal/rollout/measure"
)

// world is an API server, the controller of AppRollouts, and who controls the workloads.
type world struct {
	client.Client
	t     *testing.T
	kind  rolling.AppRollouts
	r     *rollout.Reconciler
	clock *testclock.FakeClock
	// pods are the images that the pods of a workload run.
	pods map[string][]string
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme, kruisev1alpha1.AddToScheme, oamv1beta1.AddToScheme, rolloutv1alpha1.AddToScheme, metav1.AddMetaToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithReturnManagedFields().
		WithStatusSubresource(&oamv1beta1.AppRollout{}, &kruisev1alpha1.CloneSet{}, &appsv1.Deployment{}).Build()
	registry, err := adapter.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Client: c, t: t, clock: testclock.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), pods: map[string][]string{}}
	kinds := &adapter.Adapters{Live: c, Mapper: c.RESTMapper(), Registry: registry}
	w.kind = rolling.AppRollouts{Live: c, Kinds: kinds, Clock: w.clock}
	w.r, err = rollout.New(w.kind, rollout.Dependencies{
		Cache: c, Live: c, Client: c, Events: events.NewFakeRecorder(1000), Clock: w.clock, Kinds: kinds, Registry: prometheus.NewRegistry(),
		Errands: rollout.Errands{
			Hooks: errand.NewDesk[hook.Answer](w.clock, logr.Discard(), nil), Metrics: errand.NewDesk[measure.Sample](w.clock, logr.Discard(), nil),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// refusing is the kind of the world with a reader that fails for one kind of objects.
func (w *world) refusing(kind string, failure error) rolling.AppRollouts {
	k := w.kind
	k.Live = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{Get: refuse(kind, failure)})
	return k
}

// find reads an object that may not be there.
func find[T client.Object](w *world, into T, name string) (T, bool) {
	w.t.Helper()
	err := w.Get(w.t.Context(), client.ObjectKey{Namespace: "web", Name: name}, into)
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return into, err == nil
}

func (w *world) rollout() *oamv1beta1.AppRollout {
	w.t.Helper()
	r, _ := find(w, &oamv1beta1.AppRollout{}, "shop")
	return r
}

func (w *world) cloneSet() *kruisev1alpha1.CloneSet {
	w.t.Helper()
	s, there := find(w, &kruisev1alpha1.CloneSet{}, "cart")
	if !there {
		w.t.Fatal("there is no CloneSet cart")
	}
	return s
}

// edit changes the rollout as a person does.
func (w *world) edit(how func(*oamv1beta1.AppRollout)) {
	w.t.Helper()
	r := w.rollout()
	how(r)
	r.Generation++
	status := r.Status
	if err := w.Update(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
	r.Status = status
	if err := w.Status().Update(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
}

// look has the controller look once, and then those of the workloads.
func (w *world) look() {
	w.t.Helper()
	if _, err := w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "web", Name: "shop"}}); err != nil {
		w.t.Fatal(err)
	}
	w.release()
	w.clock.Step(time.Second)
}

// until has the rollout go on until it is in a state or gone, and returns it.
func (w *world) until(state func(*oamv1beta1.AppRollout) bool) *oamv1beta1.AppRollout {
	w.t.Helper()
	w.release()
	for range 80 {
		if r := w.rollout(); state(r) {
			return r
		}
		w.look()
	}
	r := w.rollout()
	w.t.Fatalf("it does not come to that: it is in %s %s, and says %q", r.Status.RollingState, r.Status.BatchRollingState, r.Status.Message)
	return nil
}

// comesTo has the rollout go on until it ends, with the workload as it is to be, and with nothing that holds the rollout any more.
func (w *world) comesTo(end func(*oamv1beta1.AppRollout) bool, want string) {
	w.t.Helper()
	w.until(end)
	if got := w.set(); got != want {
		w.t.Errorf("it is %s\nwant %s", got, want)
	}
	w.look()
	if r := w.rollout(); len(r.Finalizers) > 0 {
		w.t.Errorf("the rollout has %v", r.Finalizers)
	}
}

func is(state rolloutv1alpha1.RollingState) func(*oamv1beta1.AppRollout) bool {
	return func(r *oamv1beta1.AppRollout) bool { return r.Status.RollingState == state }
}

// halfway is when a batch is done, and another one is to come.
func halfway(r *oamv1beta1.AppRollout) bool {
	return r.Status.BatchRollingState == rolloutv1alpha1.BatchReadyState
}

func gone(r *oamv1beta1.AppRollout) bool { return r.UID == "" }

// controllerOf names who controls an object.
func controllerOf(o metav1.Object) string {
	if of := metav1.GetControllerOf(o); of != nil {
		return of.Kind + " " + of.Name
	}
	return "nobody"
}

// there are the names of the objects of a list, in order.
func there(w *world, list client.ObjectList) []string {
	w.t.Helper()
	if err := w.List(w.t.Context(), list, client.InNamespace("web")); err != nil {
		w.t.Fatal(err)
	}
	var all []string
	switch list := list.(type) {
	case *corev1.ServiceList:
		for i := range list.Items {
			all = append(all, list.Items[i].Name)
		}
	case *appsv1.DeploymentList:
		for i := range list.Items {
			all = append(all, fmt.Sprintf("%s has %d", list.Items[i].Name, ptr.Deref(list.Items[i].Spec.Replicas, 1)))
		}
	case *autoscalingv2.HorizontalPodAutoscalerList:
		for i := range list.Items {
			s := list.Items[i].Spec
			all = append(all, fmt.Sprintf("%s scales %s to at least %d", list.Items[i].Name, s.ScaleTargetRef.Name, ptr.Deref(s.MinReplicas, 0)))
		}
	default:
		w.t.Fatalf("nobody knows how to list %T", list)
	}
	slices.Sort(all)
	return all
}
