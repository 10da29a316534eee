// SPDX-License-Identifier: Apache-2.0

package inplaceset_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/inplaceset"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
)

var web = types.NamespacedName{Namespace: builders.Namespace, Name: "web"}

// room holds one reconciler at an API server in memory, with a cache that is never behind and nodes that do at once what
// they are told.
type room struct {
	*testing.T
	server     *api.Server
	clock      *clocktesting.FakePassiveClock
	cache      *api.Cache
	reconciler *inplaceset.Reconciler
	door       *door
	told       []string // events, oldest first
}

func enter(t *testing.T, set *builders.InPlaceSetBuilder) *room {
	t.Helper()
	r := &room{T: t, clock: clocktesting.NewFakePassiveClock(builders.Epoch().Add(time.Hour))}
	r.server = api.New(r.clock)
	r.cache = api.NewCache(r.server, map[string]api.Index{owned.OwnerIndex: owned.OwnerOf}, nil)
	r.door = &door{Client: r.server.Client("manager")}
	r.reconciler = inplaceset.New(inplaceset.Dependencies{Cache: r.cache, Live: r.door, Client: r.door, Events: r, Clock: r.clock, Apply: apply.Options{Concurrency: 1}})
	r.must(r.server.Create("user", set.Build()))
	return r
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
	for range 50 {
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
	_, err := r.look()
	return err
}

func (r *room) look() (ctrl.Result, error) {
	for _, kind := range api.Kinds() {
		for _, some := r.cache.Deliver(kind); some; _, some = r.cache.Deliver(kind) {
			continue
		}
	}
	return r.reconciler.Reconcile(r.Context(), ctrl.Request{NamespacedName: web})
}

// nodes run every pod, and let go those that are to be deleted.
func (r *room) nodes() {
	r.Helper()
	for _, p := range r.pods() {
		key := client.ObjectKeyFromObject(p)
		if p.DeletionTimestamp != nil {
			if now := int64(0); *p.DeletionGracePeriodSeconds > 0 {
				if err := r.server.Delete("node", api.Pods, key, &now, nil); err != nil {
					r.Fatal(err)
				}
			}
			continue
		}
		gate := conditionOf(p, cafev1alpha1.ConditionInPlaceUpdateReady)
		ready := corev1.ConditionFalse
		if gate != nil {
			ready = gate.Status
		}
		if p.Spec.NodeName == "" {
			r.must(r.server.Modify("node", api.Pods, key, api.Binding, func(o client.Object) { o.(*corev1.Pod).Spec.NodeName = "node-1" }))
		}
		r.must(r.server.Modify("node", api.Pods, key, api.Status, func(o client.Object) { r.run(o.(*corev1.Pod), ready) }))
	}
}

// run reports that the containers run from the images of the spec.
func (r *room) run(p *corev1.Pod, ready corev1.ConditionStatus) {
	b := builders.Pod(p.Name).With(func(scratch *corev1.Pod) { scratch.Spec.Containers = p.Spec.Containers }).ReadySince(builders.Epoch())
	status := b.Build().Status
	for i := range status.ContainerStatuses {
		status.ContainerStatuses[i].ContainerID += "-" + status.ContainerStatuses[i].Image
	}
	p.Status.Phase, p.Status.ContainerStatuses, p.Status.ObservedGeneration = corev1.PodRunning, status.ContainerStatuses, p.Generation
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
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
	return pods
}

func (r *room) set() *cafev1alpha1.InPlaceSet {
	return r.server.Get(api.InPlaceSets, web).(*cafev1alpha1.InPlaceSet)
}

// edit changes the set as a user does.
func (r *room) edit(change func(*cafev1alpha1.InPlaceSet)) {
	r.Helper()
	r.must(r.server.Modify("user", api.InPlaceSets, web, api.Main, func(o client.Object) { change(o.(*cafev1alpha1.InPlaceSet)) }))
}

// takesOn and letsGo are what a component does to all pods.
func (r *room) takesOn(component string) {
	for _, p := range r.pods() {
		r.must(r.server.Modify(component, api.Pods, client.ObjectKeyFromObject(p), api.Main, func(o client.Object) {
			o.SetFinalizers(append(o.GetFinalizers(), cafev1alpha1.FinalizerPrefixTraffic+component))
		}))
	}
	r.settle()
}

func (r *room) letsGo(component string) {
	for _, p := range r.pods() {
		if gate := conditionOf(p, cafev1alpha1.ConditionInPlaceUpdateReady); gate.Status == corev1.ConditionTrue {
			continue
		}
		r.must(r.server.Modify(component, api.Pods, client.ObjectKeyFromObject(p), api.Main, func(o client.Object) {
			o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == cafev1alpha1.FinalizerPrefixTraffic+component }))
		}))
	}
	r.settle()
}

// known replaces names that are drawn or computed by those that a reader can follow, in the order of creation: pods are
// web-1, web-2 and so on, and revisions r1, r2. What could not be created is "new".
func (r *room) known(text string) string {
	pods, revisions := 0, 0
	for _, w := range r.server.Log() {
		name := strings.TrimPrefix(w.After.GetName(), "web-")
		switch {
		case w.Verb != api.Create:
		case w.Kind == api.Pods:
			pods++
			text = strings.ReplaceAll(text, "web-"+name, fmt.Sprintf("web-%d", pods))
		case w.Kind == api.Revisions:
			revisions++
			text = strings.ReplaceAll(text, name, fmt.Sprintf("r%d", revisions))
		}
	}
	for _, name := range r.door.refused {
		text = strings.ReplaceAll(text, name[strings.LastIndex(name, "-"):], "-new")
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

// condition of the set, without its times: "status reason: message".
func (r *room) condition(kind cafev1alpha1.ConditionType) string {
	for _, c := range r.set().Status.Conditions {
		if c.Type == kind {
			return r.known(strings.TrimRight(fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message), ": "))
		}
	}
	return ""
}

// door is the manager's connection. A test may have it refuse one kind of writes, such as "delete pods".
type door struct {
	client.Client
	refuse  string
	refused []string // names
}

func (d *door) refusal(verb string, o client.Object) error {
	if d.refuse != verb+" "+api.KindOf(o).String() {
		return nil
	}
	d.refused = append(d.refused, o.GetName())
	return apierrors.NewForbidden(schema.GroupResource{}, o.GetName(), errors.New("a rule says no"))
}

func (d *door) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if err := d.refusal("create", o); err != nil {
		return err
	}
	return d.Client.Create(ctx, o, opts...)
}

func (d *door) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := d.refusal("patch", o); err != nil {
		return err
	}
	return d.Client.Patch(ctx, o, p, opts...)
}
