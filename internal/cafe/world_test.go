// SPDX-License-Identifier: Apache-2.0

package cafe_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cafe"
	"slipway.dev/slipway/internal/cafe/podset"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/test/builders"
)

// world is a fake API server with the reconciler, and controllers of pod sets that do at once what they are asked for.
type world struct {
	t          *testing.T
	client     client.Client
	reconciler *cafe.Reconciler
	clock      *clocktesting.FakePassiveClock
	events     *events.FakeRecorder
	writes     []string
	// fail refuses a write, and made counts objects.
	fail func(verb string, object client.Object) error
	made int
	// older is how many pods of each set have an earlier template than the one with the revision in given.
	older map[string]int32
	given map[string]string
	has   map[string]int32
}

var key = client.ObjectKey{Namespace: builders.Namespace, Name: "web"}

func newWorld(t *testing.T, d *cafev1alpha1.CafeDeployment, objects ...client.Object) *world {
	t.Helper()
	w := &world{
		t: t, clock: clocktesting.NewFakePassiveClock(builders.Epoch()), events: events.NewFakeRecorder(1000),
		fail:  func(string, client.Object) error { return nil },
		older: map[string]int32{}, given: map[string]string{}, has: map[string]int32{},
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, cafev1alpha1.AddToScheme, kruisev1alpha1.AddToScheme, kruisev1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	stored := append(cafe.Owned(), &cafev1alpha1.CafeDeployment{})
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, d)...).WithStatusSubresource(stored...)
	for _, kind := range append(cafe.Owned(), &corev1.Pod{}, &appsv1.ControllerRevision{}) {
		b = b.WithIndex(kind, owned.OwnerIndex, owned.OwnerOf)
	}
	inner := b.Build()
	w.client = interceptor.NewClient(inner, w.interceptor())
	w.reconciler = cafe.New(cafe.Dependencies{Cache: inner, Live: inner, Client: w.client, Events: w.events, Clock: w.clock, Apply: apply.Options{Concurrency: 1}})
	return w
}

// interceptor writes down each write of the controller, and does what only a real server does: a UID for what is created.
func (w *world) interceptor() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := w.fail("create", o); err != nil {
				return err
			}
			w.made++
			o.SetUID(types.UID(fmt.Sprint("uid-", w.made)))
			w.note("create", o)
			return c.Create(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			w.note("delete", o)
			return c.Delete(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := w.fail("patch", o); err != nil {
				return err
			}
			if err := c.Patch(ctx, o, p, opts...); err != nil {
				return err
			}
			w.note("patch", o)
			return nil
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := w.fail("patch status", o); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}
}

func (w *world) note(verb string, o client.Object) {
	switch o := o.(type) {
	case *appsv1.ControllerRevision:
		w.writes = append(w.writes, verb+" revision")
		return
	case *corev1.Pod:
		return
	case *cafev1alpha1.CafeDeployment:
		w.writes = append(w.writes, fmt.Sprintf("%s %s: upgrade-confirmed=%q", verb, o.Name, o.Annotations[cafev1alpha1.AnnotationUpgradeConfirmed]))
		return
	}
	name := w.plain(o.GetName())
	if verb == "delete" {
		w.writes = append(w.writes, fmt.Sprintf("delete %s", name))
		return
	}
	shown := w.kind().Show(o, nil, w.clock.Now())
	image := ""
	if template := templateOf(o); template != nil {
		_, image, _ = strings.Cut(template.Spec.Containers[0].Image, ":")
	}
	w.writes = append(w.writes, fmt.Sprintf("%s %T %s: %s, %d replicas, partition %d", verb, o, name, image, shown.Asked, shown.Partition))
}

// plain replaces hashes of revisions by their images.
func (w *world) plain(name string) string {
	var list appsv1.ControllerRevisionList
	if err := w.client.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	for i := range list.Items {
		hash := list.Items[i].Name[strings.LastIndex(list.Items[i].Name, "-")+1:]
		name = strings.ReplaceAll(name, hash, fmt.Sprint("r", list.Items[i].Revision))
	}
	return name
}

func templateOf(o client.Object) *corev1.PodTemplateSpec {
	switch o := o.(type) {
	case *cafev1alpha1.InPlaceSet:
		return &o.Spec.Template
	case *kruisev1alpha1.CloneSet:
		return &o.Spec.Template
	case *kruisev1beta1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template
	}
	return nil
}

func (w *world) deployment() *cafev1alpha1.CafeDeployment {
	d := &cafev1alpha1.CafeDeployment{}
	if err := w.client.Get(w.t.Context(), key, d); err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) kind() podset.Kind {
	k, err := podset.Of(w.deployment().Spec.PodSetType)
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

func (w *world) edit(change func(*cafev1alpha1.CafeDeployment)) {
	d := w.deployment()
	change(d)
	d.Generation++
	before := w.writes
	if err := w.client.Update(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
	w.writes = before
}

// play has the controllers of the pod sets do what they are asked for.
func (w *world) play() {
	w.t.Helper()
	for _, set := range w.sets() {
		shown := w.kind().Show(set, nil, w.clock.Now())
		name, revision := set.GetName(), set.GetAnnotations()[cafev1alpha1.AnnotationRevision]
		if w.given[name] != revision {
			w.older[name], w.given[name] = w.has[name], revision
		}
		w.has[name] = int32(shown.Asked)
		w.older[name] = min(w.older[name], int32(shown.Partition), w.has[name])
		setStatus(set, w.has[name], w.has[name]-w.older[name])
		if err := w.client.Status().Update(w.t.Context(), set); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) sets() []client.Object {
	list := w.kind().List()
	if err := w.client.List(w.t.Context(), list); err != nil {
		w.t.Fatal(err)
	}
	items, err := apimeta.ExtractList(list)
	if err != nil {
		w.t.Fatal(err)
	}
	byName := map[string]client.Object{}
	for _, item := range items {
		o := item.(client.Object)
		byName[o.GetName()] = o
	}
	var sets []client.Object
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		sets = append(sets, byName[name])
	}
	return sets
}

func setStatus(set client.Object, has, updated int32) {
	switch o := set.(type) {
	case *cafev1alpha1.InPlaceSet:
		o.Status = cafev1alpha1.InPlaceSetStatus{Replicas: has, ReadyReplicas: has, AvailableReplicas: has, UpdatedReplicas: updated, UpdatedReadyReplicas: updated, UpdatedAvailableReplicas: updated}
	case *kruisev1alpha1.CloneSet:
		o.Status = kruisev1alpha1.CloneSetStatus{Replicas: has, ReadyReplicas: has, AvailableReplicas: has, UpdatedReplicas: updated, UpdatedAvailableReplicas: updated}
	case *kruisev1beta1.StatefulSet:
		o.Status = kruisev1beta1.StatefulSetStatus{Replicas: has, ReadyReplicas: has, AvailableReplicas: has, UpdatedReplicas: updated, UpdatedAvailableReplicas: updated}
	case *appsv1.StatefulSet:
		o.Status = appsv1.StatefulSetStatus{Replicas: has, ReadyReplicas: has, AvailableReplicas: has, UpdatedReplicas: updated, UpdateRevision: "new"}
	case *appsv1.ReplicaSet:
		o.Status = appsv1.ReplicaSetStatus{Replicas: has, ReadyReplicas: has, AvailableReplicas: has}
	}
}

// look is one pass.
func (w *world) look() (ctrl.Result, error) {
	return w.reconciler.Reconcile(log.IntoContext(w.t.Context(), logr.Discard()), ctrl.Request{NamespacedName: key})
}

// settle goes on until nothing is written any more, and returns what was written.
func (w *world) settle() []string {
	w.t.Helper()
	w.writes = nil
	for range 100 {
		before, at := len(w.writes), w.deployment().ResourceVersion
		if _, err := w.look(); err != nil {
			w.t.Fatal(err)
		}
		w.play()
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		if len(w.writes) == before && w.deployment().ResourceVersion == at {
			return w.writes
		}
	}
	w.t.Fatalf("it never comes to rest:\n%s", strings.Join(w.writes, "\n"))
	return nil
}

func (w *world) told() []string {
	var told []string
	for len(w.events.Events) > 0 {
		told = append(told, w.plain(<-w.events.Events))
	}
	return told
}

func deployment(kind cafev1alpha1.PodSetType, replicas int32, units ...string) *cafev1alpha1.CafeDeployment {
	return &cafev1alpha1.CafeDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: "web", UID: "web-uid", Generation: 1},
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: ptr.To(replicas), PodSetType: kind, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.test/app:v1"}}},
			},
			Strategy: cafev1alpha1.CafeDeploymentStrategy{BatchSize: ptr.To[int32](2)},
			Topology: cafev1alpha1.Topology{UnitType: cafev1alpha1.CellUnitType, Values: units},
		},
	}
}

func image(tag string) func(*cafev1alpha1.CafeDeployment) {
	return func(d *cafev1alpha1.CafeDeployment) {
		d.Spec.Template.Spec.Containers[0].Image = "registry.test/app:" + tag
	}
}

func conflict(object client.Object) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "sets"}, object.GetName(), nil)
}
