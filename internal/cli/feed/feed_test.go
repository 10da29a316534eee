// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"slipway.dev/slipway/test/builders"
)

func newList() client.ObjectList { return &corev1.PodList{} }

func names(f *Feed[*corev1.Pod]) []string {
	var all []string
	for _, p := range f.Items() {
		all = append(all, p.Name)
	}
	slices.Sort(all)
	return all
}

func TestFeedHoldsWhatWasListedAndFollows(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := fake.NewClientBuilder().WithObjects(builders.Pod("a").Label("app", "x").Build(), builders.Pod("other").Build()).Build()
	changed := NewSignal()
	type sight struct {
		Name    string
		Removed bool
	}
	seen := make(chan sight, 10)
	f, err := Start(ctx, c, &corev1.Pod{}, newList, Options{
		Namespace: builders.Namespace, LabelSelector: labels.SelectorFromSet(labels.Set{"app": "x"}),
		Seen: func(o client.Object, removed bool) { seen <- sight{o.GetName(), removed} },
	}, changed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, names(f)); diff != "" {
		t.Errorf("after the start (-want +got):\n%s", diff)
	}
	<-changed

	if err := c.Create(ctx, builders.Pod("b").Label("app", "x").Build()); err != nil {
		t.Fatal(err)
	}
	for !slices.Contains(names(f), "b") {
		<-changed
	}
	if err := c.Delete(ctx, builders.Pod("a").Build()); err != nil {
		t.Fatal(err)
	}
	for slices.Contains(names(f), "a") {
		<-changed
	}
	if f.Err() != nil {
		t.Errorf("error %v while all is well", f.Err())
	}
	cancel()
	<-f.Stopped()
	close(seen)
	var got []sight
	for s := range seen {
		got = append(got, s)
	}
	if diff := cmp.Diff([]sight{{"a", false}, {"b", false}, {"a", true}}, got); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

func TestStartFailsEarly(t *testing.T) {
	denied := errors.New("denied")
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return denied },
	})
	if _, err := Start(t.Context(), c, &corev1.Pod{}, newList, Options{}, NewSignal()); !errors.Is(err, denied) {
		t.Errorf("error %v, want %v", err, denied)
	}
}

func TestFeedSaysWhatKeepsItFromFollowing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var down atomic.Bool
	down.Store(true)
	away := errors.New("connection refused")
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			if down.Load() {
				return nil, away
			}
			return c.Watch(ctx, list, opts...)
		},
	})
	changed := NewSignal()
	f, err := Start(ctx, c, &corev1.Pod{}, newList, Options{}, changed)
	if err != nil {
		t.Fatal(err)
	}
	for !errors.Is(f.Err(), away) {
		<-changed
	}
	down.Store(false)
	if err := c.Create(ctx, builders.Pod("late").Build()); err != nil {
		t.Fatal(err)
	}
	for !slices.Contains(names(f), "late") {
		<-changed
	}
	if f.Err() != nil {
		t.Errorf("error %v stays after the watch works again", f.Err())
	}
	cancel()
	<-f.Stopped()
}

func TestSignalNeverBlocks(t *testing.T) {
	s := NewSignal()
	s.Give()
	s.Give()
	<-s
	select {
	case <-s:
		t.Error("two signals became two, want one")
	default:
	}
}
