// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/step"
)

const because = engine.Because("the test wants it")

func holdIn(mode rolloutv1alpha1.RolloutMode, asked int) engine.Hold {
	return engine.Hold{Because: because, Mode: mode, Asked: asked}
}

// patchOf is what a change sends.
func patchOf(t testing.TB, s step.Step) string {
	t.Helper()
	change := s.(step.ChangeSet)
	raw, err := client.MergeFrom(change.Before.(client.Object)).Data(change.After.(client.Object))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func identityFor(t testing.TB, image string) string {
	t.Helper()
	id, err := identity(template(image))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// held is a server with a workload that is held for a rollout in place.
func held(t testing.TB, kind string, change fields, pods ...client.Object) client.Client {
	t.Helper()
	s := server(t, workload(t, kind, change), append(bothRevisions(t), pods...)...)
	act(t, s, observe(t, kind, s, Ask{}), holdIn(rolloutv1alpha1.InPlaceMode, 0))
	return s
}

func TestPodsAreLetGoByNumber(t *testing.T) {
	for kind, want := range map[string]string{
		"CloneSet":       `{"spec":{"updateStrategy":{"partition":3}}}`,
		"InPlaceSet":     `{"spec":{"strategy":{"partition":3}}}`,
		"CafeDeployment": `{"spec":{"strategy":{"partition":3}}}`,
		"StatefulSet":    `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":3}}}}`,
		"Advanced":       `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":3}}}}`,
		"Flock":          `{"spec":{"keep":3}}`,
	} {
		t.Run(kind, func(t *testing.T) {
			s := held(t, kind, nil, five...)
			steps := act(t, s, observe(t, kind, s, Ask{}), engine.Advance{Because: because, To: 2})
			if len(steps) != 1 || patchOf(t, steps[0]) != want {
				t.Fatalf("got %d steps, the first one is %s", len(steps), patchOf(t, steps[0]))
			}
			after := observe(t, kind, s, Ask{})
			if after.Workload.Asked != 2 {
				t.Errorf("%d pods may be updated", after.Workload.Asked)
			}
			if again, err := Steps(after, holder, engine.Advance{Because: because, To: 2}); err != nil || len(again) > 0 {
				t.Errorf("once more is %v, %v", again, err)
			}
		})
	}
}

func TestADaemonSetAdvancesByDeletions(t *testing.T) {
	pods := []client.Object{podOf(0, "old"), podOf(1, "old", unready), podOf(2, "new", unready), podOf(3, "old", leaving), podOf(4, "old")}
	for sentence, c := range map[string]struct {
		to   int
		want string
	}{
		"two pods are on their way already":   {2, ""},
		"one that does not serve goes first":  {3, "web-1"},
		"then others":                         {4, "web-1 web-0"},
		"never more than there are old pods":  {9, "web-1 web-0 web-4"},
		"to let go of fewer takes none back":  {0, ""},
		"all of them, when all may be on it ": {5, "web-1 web-0 web-4"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := held(t, "DaemonSet", nil, pods...)
			var names []string
			for _, taken := range act(t, s, observe(t, "DaemonSet", s, Ask{}), engine.Advance{Because: because, To: c.to}) {
				names = append(names, taken.(step.DeletePod).Name)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := observe(t, "DaemonSet", s, Ask{}).Workload.Asked; got != max(c.to, 2) && got != 5 {
				t.Errorf("then %d pods may be updated", got)
			}
		})
	}
}

func TestADaemonSetWhoseTemplateIsNotKnownLosesNoPod(t *testing.T) {
	s := held(t, "DaemonSet", fields{"spec.template": template("v3")}, five...)
	if got := act(t, s, observe(t, "DaemonSet", s, Ask{}), engine.Advance{Because: because, To: 5}); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

func TestWhatOthersChangeIsKeptApart(t *testing.T) {
	s := held(t, "CloneSet", nil)
	resize := func(to int) engine.Workload {
		seen := observe(t, "CloneSet", s, Ask{})
		act(t, s, seen, engine.Resize{Because: because, To: to})
		return observe(t, "CloneSet", s, Ask{}).Workload
	}
	others := func(n int64) {
		o := stored(t, "CloneSet", s)
		put(o, fields{"spec.replicas": n})
		if err := s.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if w := resize(8); w.Replicas != 8 || w.Others != 0 {
		t.Errorf("asked for 8: %+v", w)
	}
	others(10)
	if w := observe(t, "CloneSet", s, Ask{}).Workload; w.Replicas != 10 || w.Others != 2 {
		t.Errorf("others took it to 10: %+v", w)
	}
	if w := resize(4); w.Replicas != 4 || w.Others != 2 {
		t.Errorf("asked for 4: %+v", w)
	}
	others(3)
	if w := observe(t, "CloneSet", s, Ask{}).Workload; w.Others != 1 || w.Before.Replicas != 5 {
		t.Errorf("others took it to 3: %+v", w)
	}
}

func TestADaemonSetIsNotResized(t *testing.T) {
	s := held(t, "DaemonSet", nil, five...)
	if got, err := Steps(observe(t, "DaemonSet", s, Ask{}), holder, engine.Resize{Because: because, To: 3}); err == nil {
		t.Errorf("got %v", got)
	}
}

// halfway are pods of which the two that are updated first are.
var halfway = podsOn("old", "old", "old", "new", "new")

func TestTheTemplateFromBeforeComesBackAndMovesNoPod(t *testing.T) {
	for _, kind := range versioned {
		t.Run(kind, func(t *testing.T) {
			s := held(t, kind, nil, halfway...)
			act(t, s, observe(t, kind, s, Ask{}), engine.Advance{Because: because, To: 2})
			reports(t, kind, s, fields{"status.updatedReplicas": int64(2), "status.fresh": int64(2), "status.observedGeneration": stored(t, kind, s).GetGeneration()})
			seen := observe(t, kind, s, Ask{Before: true})
			if seen.Workload.Asked != 2 || seen.Workload.Updated != 2 {
				t.Fatalf("halfway it is %+v", seen.Workload)
			}
			for _, taken := range act(t, s, seen, engine.BringBack{Because: because, Asked: 3}) {
				if _, deletes := taken.(step.DeletePod); deletes {
					t.Errorf("%s is deleted", taken.Subject())
				}
			}
			o := stored(t, kind, s)
			if diff := cmp.Diff(template("v1"), kindNamed(t, kind).places().template.tree(o)); diff != "" {
				t.Errorf("the template (-want +got):\n%s", diff)
			}
			back := observe(t, kind, s, Ask{Before: true}).Workload
			if back.Template != back.Before.Template || back.Asked != 3 || seen.Workload.Before.Back || !back.Before.Back {
				t.Errorf("then it is %+v", back)
			}
			reports(t, kind, s, fields{"status.observedGeneration": o.GetGeneration(), "status.updateRevision": "web-old", "status.updatedReplicas": int64(3)})
			steps, err := Steps(observe(t, kind, s, Ask{}), holder, engine.Advance{Because: because, To: 4})
			if err != nil || len(steps) != 1 {
				t.Errorf("to take one pod back is %v, %v: %+v", steps, err, observe(t, kind, s, Ask{}).Workload)
			}
		})
	}
}

// reports has its own controller write its status.
func reports(t *testing.T, kind string, s client.Client, change fields) {
	t.Helper()
	for _, write := range []func(*unstructured.Unstructured) error{ // some kinds have a subresource for it
		func(o *unstructured.Unstructured) error { return s.Update(t.Context(), o) },
		func(o *unstructured.Unstructured) error {
			return client.IgnoreNotFound(s.Status().Update(t.Context(), o))
		},
	} {
		o := stored(t, kind, s)
		put(o, change)
		if err := write(o); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPodsThatMayHaveMovedAreNotMovedBackAtOnce(t *testing.T) {
	s := held(t, "CloneSet", nil)
	act(t, s, observe(t, "CloneSet", s, Ask{}), engine.Advance{Because: because, To: 4})
	act(t, s, observe(t, "CloneSet", s, Ask{Before: true}), engine.BringBack{Because: because, Asked: 5}) // none has been seen to move
	if got := observe(t, "CloneSet", s, Ask{}).Workload.Asked; got != 1 {
		t.Errorf("%d pods may go back at once, and only 1 is known not to have moved", got)
	}
}

func TestWhatCannotBeBroughtBackSaysWhy(t *testing.T) {
	for sentence, c := range map[string]struct {
		spoil func(o *unstructured.Unstructured, s client.Client) error
		ask   Ask
		want  string
	}{
		"nobody has looked": {nil, Ask{}, "its template from before was not looked up"},
		"its revision is gone": {func(_ *unstructured.Unstructured, s client.Client) error {
			return s.Delete(t.Context(), revisionOf(t, "old", "v1", 1))
		}, Ask{Before: true}, "its template from before cannot be brought back: revision web-old is gone"},
		"its record is gone": {func(o *unstructured.Unstructured, s client.Client) error {
			o.SetAnnotations(nil)
			return s.Update(t.Context(), o)
		}, Ask{Before: true}, "nobody knows what stood in it before: its record is gone"},
		"there was none": {func(o *unstructured.Unstructured, s client.Client) error {
			o.SetAnnotations(map[string]string{rolloutv1alpha1.AnnotationHeld: `{"holder":"r-uid","of":"w-uid"}`})
			return s.Update(t.Context(), o)
		}, Ask{Before: true}, "its template from before is not known"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := held(t, "CloneSet", nil)
			if c.spoil != nil {
				if err := c.spoil(stored(t, "CloneSet", s), s); err != nil {
					t.Fatal(err)
				}
			}
			seen := observe(t, "CloneSet", s, c.ask)
			if got := seen.Workload.Before; got.Known || got.Why != c.want || !seen.Workload.Held {
				t.Errorf("got %+v, want %q", got, c.want)
			}
			if got, err := Steps(seen, holder, engine.BringBack{Because: because}); err == nil {
				t.Errorf("to bring it back is %v", got)
			}
		})
	}
}

func TestActionsThatAreNotAboutWorkloadsAreRefused(t *testing.T) {
	seen := observe(t, "CloneSet", server(t, workload(t, "CloneSet", nil), bothRevisions(t)...), Ask{})
	for _, a := range []engine.Action{engine.Enter{}, engine.Leave{}, engine.Invoke{}, engine.Measure{}} {
		if got, err := Steps(seen, holder, a); err == nil {
			t.Errorf("%T is %v", a, got)
		}
	}
	if got, err := Steps(Seen{}, holder, holdIn(rolloutv1alpha1.InPlaceMode, 0)); err == nil {
		t.Errorf("a workload that is not there is held by %v", got)
	}
	pair := observe(t, "Deployment", server(t, workload(t, "Deployment", nil)), Ask{})
	if got, err := Steps(pair, holder, engine.Advance{To: 1}); err == nil {
		t.Errorf("a Deployment is advanced by %v", got)
	}
}

// TestNoMorePodsThanAskedMayBeUpdated: whatever pods there are.
func TestNoMorePodsThanAskedMayBeUpdated(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		kind := rapid.SampledFrom([]string{"StatefulSet", "Advanced", "DaemonSet", "CloneSet"}).Draw(r, "kind")
		var pods []client.Object
		updated := 0
		for i := range 5 {
			hash := rapid.SampledFrom([]string{"", "old", "new"}).Draw(r, "pod")
			if hash == "" {
				continue
			}
			var change []func(*corev1.Pod)
			if rapid.Bool().Draw(r, "leaves") {
				change = append(change, leaving)
			}
			pods = append(pods, podOf(i, hash, change...))
			if hash == "new" {
				updated++
			}
		}
		s := held(t, kind, nil, pods...)
		before := observe(t, kind, s, Ask{}).Workload
		n := rapid.IntRange(0, 6).Draw(r, "n")
		act(t, s, observe(t, kind, s, Ask{}), engine.Advance{Because: because, To: n})
		after := observe(t, kind, s, Ask{}).Workload
		switch kind {
		case "DaemonSet": // pods that are gone are gone
			if after.Asked > max(n, before.Asked) {
				r.Errorf("%d may be updated, and %d were asked for", after.Asked, n)
			}
		case "CloneSet":
			if after.Asked != min(n, 5) {
				r.Errorf("%d may be updated, and %d were asked for", after.Asked, n)
			}
		default:
			if after.Asked != max(min(n, 5), updated) {
				r.Errorf("%d may be updated, and %d were asked for, and %d were", after.Asked, n, updated)
			}
		}
		if after.Updated > updated || after.UpdatedAvailable > after.Updated {
			r.Errorf("%d pods count as updated, and %d are", after.Updated, updated)
		}
	})
}
