// SPDX-License-Identifier: Apache-2.0

package rolling_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// object is one of a kind from its fields, with members that are not given left out.
func object(t *testing.T, apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetName(name)
	if spec != nil {
		raw, err := json.Marshal(spec) // whole numbers as the API has them
		if err != nil {
			t.Fatal(err)
		}
		into := &unstructured.Unstructured{}
		if err := into.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"X","spec":%s}`, raw)); err != nil {
			t.Fatal(err)
		}
		o.Object["spec"] = into.Object["spec"]
	}
	return o
}

func podSpec(replicas int, image string) map[string]any {
	return map[string]any{
		"replicas": replicas, "selector": map[string]any{"matchLabels": map[string]any{"app": "cart"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "cart"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": image}}},
		},
	}
}

// set is a CloneSet as it is rendered, and deployment a Deployment.
func set(t *testing.T, image string) *unstructured.Unstructured {
	return object(t, "apps.kruise.io/v1alpha1", "CloneSet", "cart", podSpec(4, image))
}

func deployment(t *testing.T, image string) *unstructured.Unstructured {
	return object(t, "apps/v1", "Deployment", "cart", podSpec(4, image))
}

func service(t *testing.T, name string) *unstructured.Unstructured {
	return object(t, "v1", "Service", name, map[string]any{"type": "ClusterIP"})
}

// scaler is an autoscaler of a workload as it is rendered.
func scaler(t *testing.T, of *unstructured.Unstructured, least int) *unstructured.Unstructured {
	return object(t, "autoscaling/v2", "HorizontalPodAutoscaler", "cart", map[string]any{
		"scaleTargetRef": map[string]any{"apiVersion": of.GetAPIVersion(), "kind": of.GetKind(), "name": of.GetName()}, "minReplicas": least, "maxReplicas": 9,
	})
}

// part is a component of a revision: its number is that of its own revision.
type part struct {
	name     string
	number   int
	workload *unstructured.Unstructured
	extras   []*unstructured.Unstructured
}

// revisionOf is revision N of an application, which controls it.
func revisionOf(t *testing.T, app string, number int, parts ...part) *oamv1beta1.ApplicationRevision {
	t.Helper()
	r := &oamv1beta1.ApplicationRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: fmt.Sprintf("%s-v%d", app, number), OwnerReferences: []metav1.OwnerReference{ownerOf(app)}}}
	r.Spec.Revision = int64(number)
	for _, p := range parts {
		rendered := oamv1beta1.ComponentRevision{Name: p.name, Revision: fmt.Sprintf("%s-v%d", p.name, p.number), Workload: raw(t, p.workload)}
		for i, extra := range p.extras {
			rendered.Resources = append(rendered.Resources, oamv1beta1.RenderedResource{Name: fmt.Sprint(i), Object: *raw(t, extra)})
		}
		r.Spec.ComponentRevisions = append(r.Spec.ComponentRevisions, rendered)
	}
	return r
}

func raw(t *testing.T, o *unstructured.Unstructured) *runtime.RawExtension {
	t.Helper()
	if o == nil {
		return nil
	}
	text, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return &runtime.RawExtension{Raw: text}
}

func ownerOf(app string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: oamv1beta1.GroupVersion.String(), Kind: oamv1beta1.ApplicationKind, Name: app, UID: types.UID(app), Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(false),
	}
}

// deployed is a rendered object as it lives since a revision of the application shop was deployed.
func deployed(o *unstructured.Unstructured, number int, component string, componentNumber int) *unstructured.Unstructured {
	o = o.DeepCopy()
	o.SetNamespace("web")
	o.SetUID(types.UID(o.GetKind() + " " + o.GetName()))
	o.SetOwnerReferences([]metav1.OwnerReference{ownerOf("shop")})
	o.SetLabels(map[string]string{
		oamv1beta1.LabelAppName: "shop", oamv1beta1.LabelComponent: component,
		oamv1beta1.LabelAppRevision: fmt.Sprintf("shop-v%d", number), oamv1beta1.LabelComponentRevision: fmt.Sprintf("%s-v%d", component, componentNumber),
	})
	return o
}

// named is an object under another name, as those of workloads apart have.
func named(o *unstructured.Unstructured, name string) *unstructured.Unstructured {
	o = o.DeepCopy()
	o.SetName(name)
	o.SetUID(types.UID(o.GetKind() + " " + name))
	return o
}

// asking is an AppRollout from one revision of shop to another, in two batches.
func asking(target, source string, change ...func(*oamv1beta1.AppRollout)) *oamv1beta1.AppRollout {
	r := &oamv1beta1.AppRollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop", UID: "rollout", Generation: 1},
		Spec: oamv1beta1.AppRolloutSpec{
			TargetAppRevisionName: target, SourceAppRevisionName: source, RolloutPlan: rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To[int32](2)},
		},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func to(size int32) func(*oamv1beta1.AppRollout) {
	return func(r *oamv1beta1.AppRollout) { r.Spec.RolloutPlan.TargetSize = &size }
}

func component(names ...string) func(*oamv1beta1.AppRollout) {
	return func(r *oamv1beta1.AppRollout) { r.Spec.ComponentList = names }
}

func in(state rolloutv1alpha1.RollingState) func(*oamv1beta1.AppRollout) {
	return func(r *oamv1beta1.AppRollout) {
		r.Status = oamv1beta1.AppRolloutStatus{RolloutStatus: rolloutv1alpha1.RolloutStatus{RollingState: state, ObservedGeneration: 1, Run: 1}}
	}
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

func is(state rolloutv1alpha1.RollingState) func(*oamv1beta1.AppRollout) bool {
	return func(r *oamv1beta1.AppRollout) bool { return r.Status.RollingState == state }
}

// halfway is when a batch is done, and another one is to come.
func halfway(r *oamv1beta1.AppRollout) bool {
	return r.Status.BatchRollingState == rolloutv1alpha1.BatchReadyState
}

func gone(r *oamv1beta1.AppRollout) bool { return r.UID == "" }

// release is what the controllers of the workloads do: at once all that they may.
func (w *world) release() {
	w.t.Helper()
	sets, deployments := &kruisev1alpha1.CloneSetList{}, &appsv1.DeploymentList{}
	for _, list := range []client.ObjectList{sets, deployments} {
		if err := w.List(w.t.Context(), list); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range sets.Items {
		w.updateSet(&sets.Items[i])
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		n := ptr.Deref(d.Spec.Replicas, 1)
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, ReadyReplicas: n, AvailableReplicas: n, UpdatedReplicas: n}
		if err := w.Status().Update(w.t.Context(), d); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) updateSet(s *kruisev1alpha1.CloneSet) {
	w.t.Helper()
	image, replicas := s.Spec.Template.Spec.Containers[0].Image, int(ptr.Deref(s.Spec.Replicas, 1))
	stay := 0
	if p := s.Spec.UpdateStrategy.Partition; p != nil {
		stay = p.IntValue()
	}
	pods := w.pods[s.Name]
	for len(pods) < replicas {
		pods = append(pods, image)
	}
	pods = pods[:replicas]
	for i := stay; i < replicas && !s.Spec.UpdateStrategy.Paused; i++ {
		pods[i] = image
	}
	w.pods[s.Name] = pods
	updated := int32(0)
	for _, of := range pods {
		if of == image {
			updated++
		}
	}
	newest := revisionName(s.Name, image)
	n := int32(replicas)
	s.Status = kruisev1alpha1.CloneSetStatus{
		ObservedGeneration: s.Generation, Replicas: n, ReadyReplicas: n, AvailableReplicas: n, UpdatedReplicas: updated, UpdatedReadyReplicas: updated, UpdatedAvailableReplicas: updated,
		UpdateRevision: newest, CurrentRevision: s.Status.CurrentRevision,
	}
	if updated == n || s.Status.CurrentRevision == "" {
		s.Status.CurrentRevision = newest
	}
	if err := w.Status().Update(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.record(s, newest)
}

func revisionName(name, image string) string { return name + "-" + strings.ReplaceAll(image, ":", "") }

// record keeps the template as a revision of the workload.
func (w *world) record(s *kruisev1alpha1.CloneSet, name string) {
	w.t.Helper()
	template, err := json.Marshal(s.Spec.Template)
	if err != nil {
		w.t.Fatal(err)
	}
	stored := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, kruisev1alpha1.GroupVersion.WithKind("CloneSet"))}},
		Data:       runtime.RawExtension{Raw: fmt.Appendf(nil, `{"spec":{"template":%s}}`, template)}, Revision: 1,
	}
	if err := w.Create(w.t.Context(), stored); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
}

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
