// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
)

func byApp(o client.Object) []string { return []string{o.GetLabels()["app"]} }

func cacheOf(s *api.Server, start func(api.Kind) int) *api.Cache {
	return api.NewCache(s, map[string]api.Index{"app": byApp}, start)
}

func names(t *testing.T, r client.Reader, opts ...client.ListOption) []string {
	t.Helper()
	var list corev1.PodList
	if err := r.List(t.Context(), &list, opts...); err != nil {
		t.Fatal(err)
	}
	var found []string
	for i := range list.Items {
		found = append(found, list.Items[i].Name)
	}
	return found
}

func TestACacheKnowsOnlyWhatItWasTold(t *testing.T) {
	s := newServer()
	a := mustCreate(t, s, podNamed("a"))
	cache := cacheOf(s, nil)
	mustCreate(t, s, podNamed("b"))
	if err := s.Delete("test", api.Pods, key(a), nil, nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{"a"}, {"a", "b"}, {"b"}} {
		if diff := cmp.Diff(want, names(t, cache)); diff != "" {
			t.Errorf("after %d writes (-want +got):\n%s", i, diff)
		}
		if got := cache.Pending(api.Pods); got != 2-i {
			t.Errorf("%d writes are pending, want %d", got, 2-i)
		}
		cache.Deliver(api.Pods)
	}
	if _, some := cache.Deliver(api.Pods); some {
		t.Error("a write is told twice")
	}
	if err := cache.Get(t.Context(), key(a), &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("the removed pod is read with %v", err)
	}
}

func TestACacheMayBeginInThePast(t *testing.T) {
	s := newServer()
	mustCreate(t, s, podNamed("a"))
	mustCreate(t, s, podNamed("b"))
	cache := cacheOf(s, func(api.Kind) int { return 1 })
	if diff := cmp.Diff([]string{"a"}, names(t, cache)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestACacheListsByIndexNamespaceAndLabels(t *testing.T) {
	s := newServer()
	mustCreate(t, s, podNamed("a"))
	mustCreate(t, s, podNamed("b", func(p *corev1.Pod) { p.Labels["app"] = "other" }))
	mustCreate(t, s, podNamed("c", func(p *corev1.Pod) { p.Namespace = "elsewhere" }))
	cache := cacheOf(s, nil)
	if diff := cmp.Diff([]string{"a"}, names(t, cache, client.InNamespace("default"), client.MatchingFields{"app": "web"})); diff != "" {
		t.Errorf("by index (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, names(t, cache, client.MatchingLabels{"app": "other"})); diff != "" {
		t.Errorf("by label (-want +got):\n%s", diff)
	}
	if err := cache.List(t.Context(), &corev1.PodList{}, client.MatchingFields{"unknown": "x"}); err == nil {
		t.Error("an index that does not exist finds something")
	}
}

// The simulation is only worth something when it notices that shared objects are changed.
func TestACacheNoticesTampering(t *testing.T) {
	s := newServer()
	mustCreate(t, s, podNamed("a"))
	cache := cacheOf(s, nil)
	cache.Guard()
	read := func(opts ...client.ListOption) *corev1.Pod {
		var list corev1.PodList
		if err := cache.List(t.Context(), &list, opts...); err != nil {
			t.Fatal(err)
		}
		return &list.Items[0]
	}
	read().Labels["app"] = "mine"
	if err := cache.Tampered(); err != nil {
		t.Errorf("a copy was changed, not the cache: %v", err)
	}
	shared := &corev1.Pod{}
	if err := cache.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "a"}, shared); err != nil {
		t.Fatal(err)
	}
	shared.Spec.Containers[0].Image = "mine"
	if err := cache.Tampered(); err != nil {
		t.Errorf("a copy was changed, not the cache: %v", err)
	}
	read(client.UnsafeDisableDeepCopy).Labels["app"] = "mine"
	if err := cache.Tampered(); err == nil {
		t.Error("the cache was changed and nobody noticed")
	}
}
