// SPDX-License-Identifier: Apache-2.0

package cafe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/cafe"
	"slipway.dev/slipway/test/builders"
)

// cache is one that shows pods as they were, and live the API server, which counts how often it is asked for pods and may refuse.
type cache struct {
	client.Reader
	pods []corev1.Pod // nil shows those that there are
}

func (c *cache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if pods, is := list.(*corev1.PodList); is && c.pods != nil {
		pods.Items = c.pods
		return nil
	}
	return c.Reader.List(ctx, list, opts...)
}

func (c *cache) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if into, is := object.(*corev1.Pod); is {
		for i := range c.pods {
			if c.pods[i].Name == key.Name {
				c.pods[i].DeepCopyInto(into)
				return nil
			}
		}
	}
	return c.Reader.Get(ctx, key, object, opts...)
}

type live struct {
	client.Reader
	asked   int
	refuses error
}

func (l *live) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, is := list.(*corev1.PodList); is {
		if l.asked++; l.refuses != nil {
			return l.refuses
		}
	}
	return l.Reader.List(ctx, list, opts...)
}

// wave is a release of a StatefulSet of three pods that goes back: the set has been given the template that its pods had before, and has
// counted them. In truth it had changed its lowest pod meanwhile.
type wave struct {
	*world
	cache *cache
	live  *live
}

func newWave(t *testing.T) *wave {
	t.Helper()
	w := &wave{world: newWorld(t, deployment(cafev1alpha1.StatefulSetPodSetType, 3, "A"))}
	w.cache, w.live = &cache{Reader: w.client}, &live{Reader: w.client}
	w.reconciler = cafe.New(cafe.Dependencies{
		Cache: w.cache, Live: w.live, Client: w.client, Events: w.events, Clock: w.clock, Apply: apply.Options{Concurrency: 1},
	})
	w.settle()
	set := w.sets()[0]
	for n := range 3 {
		p := builders.Pod(fmt.Sprintf("%s-%d", set.GetName(), n)).ReadySince(w.clock.Now()).
			Label("app", "web").Label(cafev1alpha1.LabelUnit, "A").Label(appsv1.ControllerRevisionHashLabelKey, "new").Build()
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
		if err := w.client.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	w.edit(image("back"))
	for n := 0; n < 10 && !strings.Contains(templateOf(w.sets()[0]).Spec.Containers[0].Image, "back"); n++ {
		if _, err := w.look(); err != nil {
			t.Fatal(err)
		}
	}
	w.play()
	return w
}

// changed has the set's lowest pod been changed; the cache shows it as it was.
func (w *wave) changed(change func(*corev1.Pod)) {
	w.t.Helper()
	var list corev1.PodList
	if err := w.client.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	w.cache.pods = list.DeepCopy().Items
	p := &list.Items[0]
	change(p)
	if err := w.client.Update(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

func older(p *corev1.Pod) { p.Labels[appsv1.ControllerRevisionHashLabelKey] = "old" }

// todo is how many pods the groups take.
func (w *wave) todo() (pods int32) {
	for _, g := range w.deployment().Status.Groups {
		for _, q := range g.Units {
			pods += q.Pods
		}
	}
	return pods
}

func TestAWaveBackWaitsUntilItsPodsAreSeen(t *testing.T) {
	for sentence, change := range map[string]func(*wave){
		"a pod that has another version": func(w *wave) { w.changed(older) },
		"a pod that is another one": func(w *wave) {
			w.changed(func(*corev1.Pod) {})
			gone := w.cache.pods[0].DeepCopy()
			if err := w.client.Delete(t.Context(), gone); err != nil {
				t.Fatal(err)
			}
			gone.ResourceVersion = "" // the server gives it a UID of its own
			older(gone)
			if err := errors.Join(w.client.Create(t.Context(), gone), w.client.Update(t.Context(), gone)); err != nil { // a later version than any before
				t.Fatal(err)
			}
		},
		"a pod that is gone": func(w *wave) {
			w.changed(func(*corev1.Pod) {})
			if err := w.client.Delete(t.Context(), w.cache.pods[0].DeepCopy()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWave(t)
			change(w)
			for range 5 {
				result, err := w.look()
				if err != nil {
					t.Fatal(err)
				}
				if result.RequeueAfter <= 0 || result.RequeueAfter > 10*time.Second {
					t.Errorf("it looks again in %s", result.RequeueAfter)
				}
			}
			if kept := w.kind().Show(w.sets()[0], nil, w.clock.Now()).Partition; w.todo() != 0 || kept != 3 {
				t.Errorf("the groups take %d pods, and the set keeps %d", w.todo(), kept)
			}
			w.cache.pods = nil
			if w.settle(); w.todo() != 1 {
				t.Errorf("the groups take %d pods, want 1", w.todo())
			}
			if w.live.asked != 1 {
				t.Errorf("the API server is asked for pods %d times", w.live.asked)
			}
		})
	}
}

func TestAWaveBackWhosePodsAreSeenGoesOn(t *testing.T) {
	w := newWave(t)
	w.live.refuses = errors.New("the connection is lost")
	if _, err := w.look(); err == nil || !strings.Contains(err.Error(), "asking the API server for the pods of web-a") {
		t.Errorf("got %v", err)
	}
	w.live.refuses, w.live.asked = nil, 0
	if w.settle(); w.todo() != 0 || w.deployment().Status.Phase != cafev1alpha1.StablePhase {
		t.Errorf("the groups take %d pods, in phase %s", w.todo(), w.deployment().Status.Phase)
	}
	if w.live.asked != 1 {
		t.Errorf("the API server is asked for pods %d times", w.live.asked)
	}
}

// A release forward has no pods that seem to be there already, so nobody has to be asked.
func TestAReleaseForwardAsksForNoPods(t *testing.T) {
	w := newWave(t)
	w.changed(older)
	for i := range w.cache.pods {
		older(&w.cache.pods[i])
	}
	for range 3 {
		if _, err := w.look(); err != nil {
			t.Fatal(err)
		}
	}
	if w.todo() != 3 || w.live.asked != 0 {
		t.Errorf("the groups take %d pods, and the API server was asked for pods %d times", w.todo(), w.live.asked)
	}
}
