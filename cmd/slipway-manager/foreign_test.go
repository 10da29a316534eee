// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

func podOf(name, apiVersion, kind string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Controller: ptr.To(true)}}
	}
	return p
}

var (
	ours      = podOf("ours", "apps.kruise.io/v1alpha1", "CloneSet")
	oursAsNew = podOf("newer", "apps.kruise.io/v1beta1", "CloneSet") // other publishers write another version
	ordered   = podOf("ordered", "apps.kruise.io/v1beta1", "StatefulSet")
	builtIn   = podOf("built-in", "apps/v1", "StatefulSet")
	nobodys   = podOf("nobodys", "", "")
	replicas  = podOf("replicas", "apps/v1", "ReplicaSet")
	namesake  = podOf("namesake", "example.com/v1", "CloneSet")
)

// shownBy runs a filter over a list and then over events, and returns the names that came through.
func shownBy(t *testing.T, listed []*corev1.Pod, events ...watch.Event) (list, seen []string) {
	t.Helper()
	source := watch.NewFakeWithChanSize(len(events), false)
	for _, e := range events {
		source.Action(e.Type, e.Object)
	}
	source.Stop()
	f := &foreign{shown: map[types.UID]bool{}, source: &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			pods := &corev1.PodList{}
			for _, p := range listed {
				pods.Items = append(pods.Items, *p)
			}
			return pods, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return source, nil },
	}}
	object, err := f.list(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range object.(*corev1.PodList).Items {
		list = append(list, p.Name)
	}
	filtered, err := f.watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for e := range filtered.ResultChan() {
		name := ""
		if p, isPod := e.Object.(*corev1.Pod); isPod {
			name = p.Name
		}
		seen = append(seen, string(e.Type)+" "+name)
	}
	return list, seen
}

func TestPodsOfOtherControllersAreLeftOut(t *testing.T) {
	released := ours.DeepCopy()
	released.OwnerReferences = nil
	given := ours.DeepCopy()
	given.OwnerReferences = replicas.OwnerReferences
	for name, tc := range map[string]struct {
		listed   []*corev1.Pod
		events   []watch.Event
		wantList []string
		wantSeen []string
	}{
		"a list keeps our pods, whatever version of our API their owner has, and those of nobody": {
			listed:   []*corev1.Pod{replicas, ours, namesake, oursAsNew, builtIn, ordered, nobodys},
			wantList: []string{"ours", "newer", "ordered", "nobodys"},
		},
		"a watch shows the life of our pods and nothing of others": {
			events: []watch.Event{
				{Type: watch.Added, Object: replicas}, {Type: watch.Added, Object: ours}, {Type: watch.Modified, Object: replicas},
				{Type: watch.Modified, Object: ours}, {Type: watch.Deleted, Object: replicas}, {Type: watch.Deleted, Object: ours},
			},
			wantSeen: []string{"ADDED ours", "MODIFIED ours", "DELETED ours"},
		},
		"a pod that is given away is seen going, and until it is gone": {
			listed:   []*corev1.Pod{ours},
			events:   []watch.Event{{Type: watch.Modified, Object: given}, {Type: watch.Modified, Object: given}, {Type: watch.Deleted, Object: given}, {Type: watch.Added, Object: given}},
			wantList: []string{"ours"},
			wantSeen: []string{"MODIFIED ours", "MODIFIED ours", "DELETED ours"},
		},
		"a pod that is released stays": {
			listed:   []*corev1.Pod{ours},
			events:   []watch.Event{{Type: watch.Modified, Object: released}},
			wantList: []string{"ours"},
			wantSeen: []string{"MODIFIED ours"},
		},
		"a pod of another controller that becomes ours appears": {
			events:   []watch.Event{{Type: watch.Added, Object: given}, {Type: watch.Modified, Object: ours}},
			wantSeen: []string{"MODIFIED ours"},
		},
		"what is no news of a pod passes": {
			events:   []watch.Event{{Type: watch.Bookmark, Object: replicas}, {Type: watch.Error, Object: &metav1.Status{}}},
			wantSeen: []string{"BOOKMARK replicas", "ERROR "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			list, seen := shownBy(t, tc.listed, tc.events...)
			if diff := cmp.Diff(tc.wantList, list); diff != "" {
				t.Errorf("listed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantSeen, seen); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
		})
	}
}
