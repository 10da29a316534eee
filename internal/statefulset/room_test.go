// SPDX-License-Identifier: Apache-2.0

package statefulset_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/statefulset"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
)

var web = types.NamespacedName{Namespace: builders.Namespace, Name: "web"}

// room holds one reconciler at an API server in memory. Its cache is told everything before each look, except pods of
// other controllers: the manager lets those go.
type room struct {
	*testing.T
	server     *api.Server
	clock      *clocktesting.FakePassiveClock
	cache      *api.Cache
	reconciler *statefulset.Reconciler
	door       *door
	classes    []storagev1.StorageClass
	told       []string      // events, oldest first
	looked     time.Duration // when the last pass wanted to look again
}

func enter(t *testing.T, set *builders.StatefulSetBuilder) *room {
	t.Helper()
	r := &room{T: t, clock: clocktesting.NewFakePassiveClock(builders.Epoch().Add(time.Hour))}
	r.server = api.New(r.clock)
	r.cache = api.NewCache(r.server, map[string]api.Index{owned.OwnerIndex: owned.OwnerOf}, nil)
	r.door = &door{Client: r.server.Client("manager")}
	r.reconciler = statefulset.New(statefulset.Dependencies{Cache: shown{r.cache, r}, Live: r.door, Client: r.door, Events: r, Clock: r.clock, Apply: apply.Options{Concurrency: 1}})
	r.create(set.Build())
	return r
}

func (r *room) create(o client.Object) client.Object {
	r.Helper()
	made, err := r.server.Create("user", o)
	if err != nil {
		r.Fatal(err)
	}
	return made
}

func (r *room) must(_ client.Object, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// settle lets everything happen until nothing happens any more.
func (r *room) settle() {
	r.Helper()
	for range 100 {
		before := len(r.server.Log())
		r.nodes()
		if err := r.pass(); err != nil {
			r.Fatal(err)
		}
		if len(r.server.Log()) == before {
			return
		}
		r.clock.SetTime(r.clock.Now().Add(3 * time.Second))
	}
	r.Fatalf("does not come to rest; events so far: %q", r.told)
}

// pass is one look of the manager at everything that has been written. Its error is what was refused.
func (r *room) pass() error {
	for _, kind := range api.Kinds() {
		for _, some := r.cache.Deliver(kind); some; _, some = r.cache.Deliver(kind) {
			continue
		}
	}
	result, err := r.reconciler.Reconcile(r.Context(), ctrl.Request{NamespacedName: web})
	r.looked = result.RequeueAfter
	return err
}

// nodes run every pod, and let go those that are to be deleted. Images with the tag broken never get ready.
func (r *room) nodes() {
	r.Helper()
	for _, p := range r.pods() {
		key := client.ObjectKeyFromObject(p)
		if p.DeletionTimestamp != nil {
			now := int64(0)
			if err := r.server.Delete("node", api.Pods, key, &now, nil); err != nil {
				r.Fatal(err)
			}
			continue
		}
		if p.Spec.NodeName == "" {
			r.must(r.server.Modify("node", api.Pods, key, api.Binding, func(o client.Object) { o.(*corev1.Pod).Spec.NodeName = "node-1" }))
		}
		r.must(r.server.Modify("node", api.Pods, key, api.Status, func(o client.Object) { r.run(o.(*corev1.Pod)) }))
	}
}

// run reports that the containers run from the images of the spec.
func (r *room) run(p *corev1.Pod) {
	ready := corev1.ConditionTrue
	for _, g := range p.Spec.ReadinessGates {
		if c := conditionOf(p, g.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			ready = corev1.ConditionFalse
		}
	}
	b := builders.Pod(p.Name).With(func(scratch *corev1.Pod) { scratch.Spec.Containers = p.Spec.Containers }).ReadySince(builders.Epoch())
	if strings.HasSuffix(p.Spec.Containers[0].Image, ":broken") {
		b, ready = b.Waiting("ImagePullBackOff"), corev1.ConditionFalse
	}
	status := b.Build().Status
	for i := range status.ContainerStatuses {
		if c := &status.ContainerStatuses[i]; c.ContainerID != "" {
			c.ContainerID += "-" + c.Image
		}
	}
	p.Status.Phase, p.Status.ContainerStatuses, p.Status.ObservedGeneration = status.Phase, status.ContainerStatuses, p.Generation
	p.Status.StartTime = &p.CreationTimestamp
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		c := conditionOf(p, kind)
		if c == nil {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind})
			c = conditionOf(p, kind)
		}
		if c.Status != ready {
			c.Status, c.Reason, c.Message, c.LastTransitionTime = ready, "", "", metav1.NewTime(r.clock.Now())
		}
	}
}

func conditionOf(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func (r *room) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range r.server.List(api.Pods) {
		pods = append(pods, o.(*corev1.Pod))
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

func (r *room) set() *kruisev1beta1.StatefulSet {
	return r.server.Get(api.StatefulSets, web).(*kruisev1beta1.StatefulSet)
}

// edit changes the set as a user does.
func (r *room) edit(change edit) {
	r.Helper()
	r.must(r.server.Modify("user", api.StatefulSets, web, api.Main, func(o client.Object) { change(o.(*kruisev1beta1.StatefulSet)) }))
}

func (r *room) editPod(name string, sub api.Subresource, change func(*corev1.Pod)) {
	r.Helper()
	key := types.NamespacedName{Namespace: builders.Namespace, Name: name}
	r.must(r.server.Modify("user", api.Pods, key, sub, func(o client.Object) { change(o.(*corev1.Pod)) }))
}

// known replaces the names of revisions by web-r1, web-r2 and so on, in the order of their creation.
func (r *room) known(text string) string {
	revisions := 0
	for _, w := range r.server.Log() {
		if w.Verb == api.Create && w.Kind == api.Revisions {
			revisions++
			text = strings.ReplaceAll(text, strings.TrimPrefix(w.After.GetName(), "web-"), fmt.Sprintf("r%d", revisions))
		}
	}
	return text
}

// Eventf writes an event down as "type reason on object, pod: note".
func (r *room) Eventf(about, related runtime.Object, kind, reason, _, note string, args ...any) {
	on := about.(client.Object).GetName()
	if ref, has := related.(*corev1.ObjectReference); has {
		on += ", " + ref.Kind + " " + ref.Name
	}
	r.told = append(r.told, fmt.Sprintf("%s %s on %s: %s", kind, reason, on, fmt.Sprintf(note, args...)))
}

func (r *room) events() []string {
	var told []string
	for _, e := range r.told {
		told = append(told, r.known(e))
	}
	return told
}

// writes are those of the manager from a point of the log on, the status of the set aside.
func (r *room) writes(from int) []string {
	var lines []string
	for _, w := range r.server.Log()[from:] {
		if w.Actor != "manager" || w.Kind == api.StatefulSets && w.Subresource == api.Status {
			continue
		}
		line := fmt.Sprintf("%s %s %s", w.Verb, w.Kind, w.After.GetName())
		if w.Subresource != api.Main {
			line = fmt.Sprintf("%s %s of %s %s", w.Verb, w.Subresource, w.Kind, w.After.GetName())
		}
		lines = append(lines, r.known(line))
	}
	return lines
}

// condition of the set, without its times: "status reason: message".
func (r *room) condition(kind kruisev1beta1.StatefulSetConditionType) string {
	for _, c := range r.set().Status.Conditions {
		if c.Type == kind {
			return r.known(fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message))
		}
	}
	return ""
}

// shown is a cache that shows no pods of other controllers, as that of the manager.
type shown struct {
	client.Reader
	room *room
}

// List lists the storage classes of the room besides what the server stores.
func (s shown) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if classes, are := list.(*storagev1.StorageClassList); are {
		classes.Items = s.room.classes
		return nil
	}
	return s.Reader.List(ctx, list, opts...)
}

func (s shown) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := s.Reader.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.APIVersion != kruisev1beta1.GroupVersion.String() {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return nil
}

// door is the manager's connection. A test may have it refuse one kind of writes, such as "delete pods", and only those of
// one object.
type door struct {
	client.Client
	refuse, only string
	reads        int
}

func (d *door) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	d.reads++
	return d.Client.Get(ctx, key, o, opts...)
}

func (d *door) refusal(verb string, o client.Object) error {
	if d.refuse != verb+" "+api.KindOf(o).String() || d.only != "" && d.only != o.GetName() {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{}, o.GetName(), errors.New("a rule says no"))
}

func (d *door) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if err := d.refusal("create", o); err != nil {
		return err
	}
	return d.Client.Create(ctx, o, opts...)
}

func (d *door) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if err := d.refusal("delete", o); err != nil {
		return err
	}
	return d.Client.Delete(ctx, o, opts...)
}

func (d *door) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := d.refusal("patch", o); err != nil {
		return err
	}
	return d.Client.Patch(ctx, o, p, opts...)
}
