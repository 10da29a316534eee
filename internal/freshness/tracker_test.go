// SPDX-License-Identifier: Apache-2.0

package freshness_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/freshness"
)

// view is what a reader shows: pods by name.
type view struct {
	client.Reader
	pods map[string]*corev1.Pod
	err  error
	gets int
}

func (v *view) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	v.gets++
	if v.err != nil {
		return v.err
	}
	found, ok := v.pods[key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, key.Name)
	}
	found.DeepCopyInto(out.(*corev1.Pod)) //nolint:forcetypeassert // this view holds pods only
	return nil
}

func podAt(uid types.UID, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid, ResourceVersion: version}}
}

func terminating(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return p
}

const owner types.UID = "set"

func TestTheCacheHasSeenAWrite(t *testing.T) {
	wrote := func(tr *freshness.Tracker) { tr.Wrote(owner, podAt("1", "10")) }
	patched := func(tr *freshness.Tracker) { tr.Patched(owner, podAt("1", "10")) }
	deleted := func(tr *freshness.Tracker) { tr.Deleted(owner, podAt("1", "10")) }
	both := func(first, second func(*freshness.Tracker)) func(*freshness.Tracker) {
		return func(tr *freshness.Tracker) { first(tr); second(tr) }
	}
	for sentence, c := range map[string]struct {
		write  func(*freshness.Tracker)
		cached *corev1.Pod
		stale  bool
	}{
		"nothing was written":                                  {func(*freshness.Tracker) {}, nil, false},
		"written, and the cache shows that version":            {wrote, podAt("1", "10"), false},
		"written, and the cache shows a later one":             {wrote, podAt("1", "11"), false},
		"versions are numbers, not text":                       {wrote, podAt("1", "9"), true},
		"written, and the cache has nothing":                   {wrote, nil, true},
		"written, and already terminating":                     {wrote, terminating(podAt("1", "9")), false},
		"written, and the name belongs to another pod now":     {wrote, podAt("2", "20"), false},
		"written, and the cache shows an earlier namesake":     {wrote, podAt("0", "5"), true},
		"an earlier namesake on its way out is no better":      {wrote, terminating(podAt("0", "5")), true},
		"patched, and the cache shows an older version":        {patched, podAt("1", "9"), true},
		"patched, and the cache shows that version":            {patched, podAt("1", "10"), false},
		"patched, and gone from the cache":                     {patched, nil, false},
		"patched twice, and gone from the cache":               {both(patched, patched), nil, false},
		"made and patched, and the cache has nothing yet":      {both(wrote, patched), nil, true},
		"made, patched twice, and the cache has nothing":       {both(wrote, both(patched, patched)), nil, true},
		"a namesake made before, patched, gone from the cache": {both(func(tr *freshness.Tracker) { tr.Wrote(owner, podAt("0", "5")) }, patched), nil, false},
		"patched, and the cache shows an earlier namesake":     {patched, podAt("0", "5"), true},
		"deleted, and the cache shows an earlier namesake":     {deleted, podAt("0", "5"), true},
		"deleted, and the cache still shows it":                {deleted, podAt("1", "12"), true},
		"deleted, and the cache shows it terminating":          {deleted, terminating(podAt("1", "12")), false},
		"deleted, and gone from the cache":                     {deleted, nil, false},
		"deleted, and the name belongs to another pod now":     {deleted, podAt("2", "20"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			cache := &view{pods: map[string]*corev1.Pod{}}
			if c.cached != nil {
				cache.pods["a"] = c.cached
			}
			tracker := freshness.New(cache, &view{}, clocktesting.NewFakePassiveClock(time.Unix(0, 0)), 0)
			c.write(tracker)
			wait, stale := tracker.Unseen(t.Context(), owner)
			if stale != c.stale {
				t.Errorf("stale = %v, want %v", stale, c.stale)
			}
			if stale && wait <= 0 {
				t.Errorf("a stale view must end some time, got a wait of %s", wait)
			}
			if _, other := tracker.Unseen(t.Context(), "another set"); other {
				t.Error("another set waits for it too")
			}
		})
	}
}

func TestAWaitIsBounded(t *testing.T) {
	type at struct {
		after time.Duration
		stale bool
	}
	for sentence, c := range map[string]struct {
		live *view
		want []at
	}{
		"a pod created and deleted before the cache saw it is dropped at the first live look": {
			&view{}, []at{{9 * time.Second, true}, {10 * time.Second, false}},
		},
		"a name that was given to another pod too": {
			&view{pods: map[string]*corev1.Pod{"a": podAt("2", "20")}}, []at{{10 * time.Second, false}},
		},
		"what the API server confirms is waited for until the timeout": {
			&view{pods: map[string]*corev1.Pod{"a": podAt("1", "10")}}, []at{{10 * time.Second, true}, {4 * time.Minute, true}, {5 * time.Minute, false}},
		},
		"an API server that does not answer proves nothing": {
			&view{err: errors.New("connection refused")}, []at{{10 * time.Second, true}, {6 * time.Minute, true}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			tracker := freshness.New(&view{}, c.live, clock, 5*time.Minute)
			tracker.Wrote(owner, podAt("1", "10"))
			for _, w := range c.want {
				clock.SetTime(time.Unix(0, 0).Add(w.after))
				if _, stale := tracker.Unseen(t.Context(), owner); stale != w.stale {
					t.Errorf("after %s: stale = %v, want %v", w.after, stale, w.stale)
				}
			}
		})
	}
}

// A pod that is gone live, and that the cache still shows, is one that decisions would count on.
func TestACacheThatIsBehindIsWaitedForEvenWhenThePodIsGone(t *testing.T) {
	cache := &view{pods: map[string]*corev1.Pod{"a": podAt("1", "9")}}
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	tracker := freshness.New(cache, &view{}, clock, 5*time.Minute)
	tracker.Deleted(owner, podAt("1", "9"))
	for _, after := range []time.Duration{10 * time.Second, 4 * time.Minute} {
		clock.SetTime(time.Unix(0, 0).Add(after))
		if _, stale := tracker.Unseen(t.Context(), owner); !stale {
			t.Errorf("after %s the pod counts although it is gone", after)
		}
	}
	delete(cache.pods, "a")
	if _, stale := tracker.Unseen(t.Context(), owner); stale {
		t.Error("the cache has caught up and is not believed")
	}
}

func TestAWriteWithoutAnAnswerIsLookedUp(t *testing.T) {
	created := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	for sentence, c := range map[string]struct {
		write  *corev1.Pod
		live   *view
		cached *corev1.Pod
		stale  bool
	}{
		"a creation that did not reach the server":            {created, &view{}, nil, false},
		"a creation that did":                                 {created, &view{pods: map[string]*corev1.Pod{"a": podAt("1", "10")}}, nil, true},
		"a creation that the cache shows already":             {created, &view{pods: map[string]*corev1.Pod{"a": podAt("1", "10")}}, podAt("1", "10"), false},
		"a creation, and the server does not answer":          {created, &view{err: errors.New("connection refused")}, nil, true},
		"a patch that did not reach the server":               {podAt("1", "9"), &view{pods: map[string]*corev1.Pod{"a": podAt("1", "9")}}, podAt("1", "9"), false},
		"a patch that did":                                    {podAt("1", "9"), &view{pods: map[string]*corev1.Pod{"a": podAt("1", "10")}}, podAt("1", "9"), true},
		"a deletion that did, and the cache shows the pod":    {podAt("1", "9"), &view{}, podAt("1", "9"), true},
		"a deletion, and the name belongs to a later pod":     {podAt("1", "9"), &view{pods: map[string]*corev1.Pod{"a": podAt("2", "20")}}, podAt("1", "9"), true},
		"a deletion, and the cache has the later pod as well": {podAt("1", "9"), &view{pods: map[string]*corev1.Pod{"a": podAt("2", "20")}}, podAt("2", "20"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			cache := &view{pods: map[string]*corev1.Pod{}}
			if c.cached != nil {
				cache.pods["a"] = c.cached
			}
			tracker := freshness.New(cache, c.live, clocktesting.NewFakePassiveClock(time.Unix(0, 0)), 0)
			tracker.Unsure(owner, c.write)
			if _, stale := tracker.Unseen(t.Context(), owner); stale != c.stale {
				t.Errorf("stale = %v, want %v", stale, c.stale)
			}
		})
	}
}

func TestTheAPIServerIsAskedOnlyNowAndThen(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	live := &view{pods: map[string]*corev1.Pod{"a": podAt("1", "10")}}
	tracker := freshness.New(&view{}, live, clock, 5*time.Minute)
	tracker.Wrote(owner, podAt("1", "10"))
	for range 60 { // a minute, looked at each second
		clock.SetTime(clock.Now().Add(time.Second))
		tracker.Unseen(t.Context(), owner)
	}
	if live.gets != 6 {
		t.Errorf("%d live reads in a minute, want one for each 10 seconds", live.gets)
	}
}

func TestAForgottenOwnerWaitsForNothing(t *testing.T) {
	tracker := freshness.New(&view{}, &view{}, clocktesting.NewFakePassiveClock(time.Unix(0, 0)), 0)
	tracker.Wrote(owner, podAt("1", "10"))
	tracker.Forget(owner)
	if _, stale := tracker.Unseen(t.Context(), owner); stale {
		t.Error("still stale")
	}
}
