// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
)

// Web is the name of the one set on a stage.
var Web = types.NamespacedName{Namespace: builders.Namespace, Name: "web"}

// Stage is where one set of type S plays. It records events as the manager's recorder does.
type Stage[S client.Object] struct {
	*testing.T
	Server *api.Server
	Clock  *clocktesting.FakePassiveClock
	Cache  *api.Cache
	// Door is the manager's connection.
	Door *Door
	// Told are the events, oldest first.
	Told []string
	// Looked is when the last look wanted to look again.
	Looked time.Duration
	// Drawn: names of pods are drawn, so they are told by the order in which they were created.
	Drawn bool

	reconciler reconcile.Reconciler
	kind       api.Kind
}

// Enter puts a set on a stage, and the reconciler that is made for it.
func Enter[S client.Object](t *testing.T, set S, reconciler func(*Stage[S]) reconcile.Reconciler) *Stage[S] {
	t.Helper()
	s := &Stage[S]{T: t, Clock: clocktesting.NewFakePassiveClock(builders.Epoch().Add(time.Hour)), kind: api.KindOf(set)}
	s.Server = api.New(s.Clock)
	s.Cache = api.NewCache(s.Server, map[string]api.Index{owned.OwnerIndex: owned.OwnerOf}, nil)
	s.Door = &Door{Client: s.Server.Client("manager")}
	s.reconciler = reconciler(s)
	s.Must(s.Server.Create("user", set))
	return s
}

// Must ends the test at an error. It is for what Server answers.
func (s *Stage[S]) Must(_ client.Object, err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// Settle lets everything happen until nothing happens any more.
func (s *Stage[S]) Settle() {
	s.Helper()
	for range 100 {
		before := len(s.Server.Log())
		s.Nodes()
		if err := s.Pass(); err != nil {
			s.Fatal(err)
		}
		if len(s.Server.Log()) == before {
			return
		}
		s.Clock.SetTime(s.Clock.Now().Add(3 * time.Second))
	}
	s.Fatalf("does not come to rest; events so far: %q", s.Told)
}

// Pass is one look of the manager at everything that has been written. Its error is what was refused.
func (s *Stage[S]) Pass() error {
	for _, kind := range api.Kinds() {
		for _, some := s.Cache.Deliver(kind); some; _, some = s.Cache.Deliver(kind) {
			continue
		}
	}
	return s.Look()
}

// Look is one look at what the cache was told.
func (s *Stage[S]) Look() error {
	result, err := s.reconciler.Reconcile(s.Context(), ctrl.Request{NamespacedName: Web})
	s.Looked = result.RequeueAfter
	return err
}

// Set is the set as it is stored.
func (s *Stage[S]) Set() S { return s.Server.Get(s.kind, Web).(S) }

// Edit changes the set as a user does.
func (s *Stage[S]) Edit(change func(S)) {
	s.Helper()
	s.Must(s.Server.Modify("user", s.kind, Web, api.Main, func(o client.Object) { change(o.(S)) }))
}

// EditPod changes a pod in the name of a user.
func (s *Stage[S]) EditPod(name string, sub api.Subresource, change func(*corev1.Pod)) {
	s.Helper()
	key := types.NamespacedName{Namespace: builders.Namespace, Name: name}
	s.Must(s.Server.Modify("user", api.Pods, key, sub, func(o client.Object) { change(o.(*corev1.Pod)) }))
}

// Pods are all pods in the order of their creation.
func (s *Stage[S]) Pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range s.Server.List(api.Pods) {
		pods = append(pods, o.(*corev1.Pod))
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
	return pods
}

// Revisions are all that are stored.
func (s *Stage[S]) Revisions() []*appsv1.ControllerRevision {
	var found []*appsv1.ControllerRevision
	for _, o := range s.Server.List(api.Revisions) {
		found = append(found, o.(*appsv1.ControllerRevision))
	}
	return found
}

// Known replaces names that are drawn or computed by those that a reader can follow, in the order of creation: revisions are r1, r2 and
// so on, and drawn names of pods are web-1, web-2. What could not be created is "new".
func (s *Stage[S]) Known(text string) string {
	pods, revisions := 0, 0
	for _, w := range s.Server.Log() {
		name := strings.TrimPrefix(w.After.GetName(), "web-")
		switch {
		case w.Verb != api.Create:
		case w.Kind == api.Pods && s.Drawn:
			pods++
			text = strings.ReplaceAll(text, "web-"+name, fmt.Sprintf("web-%d", pods))
		case w.Kind == api.Revisions:
			revisions++
			text = strings.ReplaceAll(text, name, fmt.Sprintf("r%d", revisions))
		}
	}
	if !s.Drawn {
		return text
	}
	for _, name := range s.Door.refused {
		text = strings.ReplaceAll(text, name[strings.LastIndex(name, "-"):], "-new")
	}
	return text
}

// Eventf writes an event down as "type reason on object, related object: note".
func (s *Stage[S]) Eventf(about, related runtime.Object, kind, reason, _, note string, args ...any) {
	on := about.(client.Object).GetName()
	if ref, has := related.(*corev1.ObjectReference); has {
		on += ", " + ref.Kind + " " + ref.Name
	}
	s.Told = append(s.Told, fmt.Sprintf("%s %s on %s: %s", kind, reason, on, fmt.Sprintf(note, args...)))
}

// Events are those that were told, in known names.
func (s *Stage[S]) Events() []string {
	var told []string
	for _, e := range s.Told {
		told = append(told, s.Known(e))
	}
	return told
}

// Writes are those of the manager from a point of the log on, the status of the set aside.
func (s *Stage[S]) Writes(from int) []string {
	var lines []string
	for _, w := range s.Server.Log()[from:] {
		if w.Actor != "manager" || w.Kind == s.kind && w.Subresource == api.Status {
			continue
		}
		line := fmt.Sprintf("%s %s %s", w.Verb, w.Kind, w.After.GetName())
		if w.Subresource != api.Main {
			line = fmt.Sprintf("%s %s of %s %s", w.Verb, w.Subresource, w.Kind, w.After.GetName())
		}
		lines = append(lines, s.Known(line))
	}
	return lines
}
