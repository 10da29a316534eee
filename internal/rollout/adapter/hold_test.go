// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
)

const (
	reference = `"ownerReferences":[{"apiVersion":"standard.oam.dev/v1alpha1","blockOwnerDeletion":false,"controller":true,"kind":"RolloutTrait","name":"release","uid":"r-uid"}]`
	label     = `"labels":{"rollout.slipway.dev/held":"true"}`
)

// claimed is the metadata of a patch that claims.
func claimed(record string) string {
	raw, err := json.Marshal(record)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`"metadata":{"annotations":{"rollout.slipway.dev/held":%s},%s,%s}`, raw, label, reference)
}

func TestAClaimIsOnePatch(t *testing.T) {
	old := identityFor(t, "v1")
	for sentence, c := range map[string]struct {
		kind   string
		change fields
		pods   []client.Object
		hold   engine.Hold
		want   string
	}{
		"the newer Deployment stays paused until it is held": {"Deployment", fields{"spec.paused": true}, nil, holdIn(rolloutv1alpha1.TwoObjectsMode, 0),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"paused":true}`) + `}`},
		"the older one, too": {"Deployment", fields{"spec.paused": true}, nil, engine.Hold{Because: because, On: engine.Source, Mode: rolloutv1alpha1.TwoObjectsMode},
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"paused":true}`) + `}`},
		"one that is scaled stays paused": {"Deployment", fields{"spec.paused": true}, nil, holdIn(rolloutv1alpha1.ScaleMode, 0),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"paused":true}`) + `}`},
		"a CloneSet keeps all its pods, and its pause": {"CloneSet", fields{"spec.updateStrategy.paused": true, "spec.updateStrategy.partition": "10%"}, nil, holdIn(rolloutv1alpha1.InPlaceMode, 0),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"revision":"web-old","template":"`+old+`","paused":true,"partition":"10%"}`) + `,"spec":{"updateStrategy":{"partition":5}}}`},
		"pods that have moved count": {"CloneSet", fields{"spec.updateStrategy.partition": nil, "status.updatedReplicas": int64(2)}, nil, holdIn(rolloutv1alpha1.InPlaceMode, 2),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"revision":"web-old","template":"`+old+`"}`) + `,"spec":{"updateStrategy":{"partition":3}}}`},
		"a CloneSet that is scaled keeps its partition": {"CloneSet", nil, nil, holdIn(rolloutv1alpha1.ScaleMode, 0),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"revision":"web-old","template":"`+old+`","partition":5}`) + `}`},
		"an InPlaceSet": {"InPlaceSet", fields{"spec.strategy.paused": true, "spec.strategy.partition": int64(0)}, nil, holdIn(rolloutv1alpha1.InPlaceMode, 0),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"revision":"web-old","template":"`+old+`","paused":true,"partition":0}`) + `,"spec":{"strategy":{"partition":5}}}`},
		"a CafeDeployment has its groups replaced": {"CafeDeployment", fields{"spec.strategy": map[string]any{"pause": true, "batchSize": int64(2)}}, nil, holdIn(rolloutv1alpha1.InPlaceMode, 0),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"revision":"web-old","template":"`+old+`","paused":true}`) + `,"spec":{"strategy":{"partition":5}}}`},
		"to be scaled, it keeps its pause": {"CafeDeployment", fields{"spec.strategy": map[string]any{"pause": true}}, nil, holdIn(rolloutv1alpha1.ScaleMode, 0),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"revision":"web-old","template":"`+old+`","paused":true}`) + `}`},
		"a StatefulSet without a partition gets one": {"StatefulSet", fields{"spec.updateStrategy": nil, "spec.ordinals.start": int64(3)}, nil, holdIn(rolloutv1alpha1.InPlaceMode, 0),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"revision":"web-old","template":"`+old+`"}`) + `,"spec":{"updateStrategy":{"rollingUpdate":{"partition":5}}}}`},
		"a StatefulSet with OnDelete is made to roll": {"StatefulSet", fields{"spec.updateStrategy": map[string]any{"type": "OnDelete"}}, five, holdIn(rolloutv1alpha1.InPlaceMode, 0),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"revision":"web-old","template":"`+old+`","strategy":{"type":"OnDelete"}}`) + `,"spec":{"updateStrategy":{"rollingUpdate":{"partition":5},"type":"RollingUpdate"}}}`},
		"an advanced one": {"Advanced", fields{"spec.updateStrategy.rollingUpdate": map[string]any{"paused": true, "maxUnavailable": int64(2)}}, podsOn("old", "old", "old", "new", "new"), holdIn(rolloutv1alpha1.InPlaceMode, 2),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"revision":"web-old","template":"`+old+`","paused":true,"strategy":{"rollingUpdate":{"maxUnavailable":2,"paused":true},"type":"RollingUpdate"}}`) +
				`,"spec":{"updateStrategy":{"rollingUpdate":{"partition":3}}}}`},
		"a DaemonSet stops to update by itself": {"DaemonSet", fields{"spec.updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": int64(1)}}}, five, holdIn(rolloutv1alpha1.InPlaceMode, 0),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"revision":"web-old","template":"`+old+`","strategy":{"rollingUpdate":{"maxUnavailable":1},"type":"RollingUpdate"}}`) +
				`,"spec":{"updateStrategy":{"rollingUpdate":null,"type":"OnDelete"}}}`},
		"a kind that is described by paths": {"Flock", fields{"spec.rests": true, "spec.keep": int64(1)}, nil, holdIn(rolloutv1alpha1.InPlaceMode, 0),
			"{" + claimed(`{"holder":"r-uid","of":"w-uid","replicas":5,"asked":5,"revision":"web-old","template":"`+old+`","paused":true,"partition":1}`) + `,"spec":{"keep":5}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := server(t, workload(t, c.kind, c.change), append(bothRevisions(t), c.pods...)...)
			seen := observe(t, c.kind, s, Ask{Pair: c.hold.Mode == rolloutv1alpha1.TwoObjectsMode})
			steps := act(t, s, seen, c.hold)
			if len(steps) != 1 {
				t.Fatalf("got %d steps", len(steps))
			}
			if diff := cmp.Diff(c.want, patchOf(t, steps[0])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			after := observe(t, c.kind, s, Ask{Before: true})
			w := after.Workload
			if !w.Held || w.Owner != "" || w.Others != 0 || w.Versions != (w.Before.Template == old) || w.Versions != w.Before.Known {
				t.Errorf("it is seen as %+v", w)
			}
			if again, err := Steps(after, holder, c.hold); err != nil || len(again) > 0 {
				t.Errorf("to hold it again is %v, %v", again, err)
			}
		})
	}
}

func TestWhatIsHeldIsUnpausedByAWriteOfItsOwn(t *testing.T) {
	for kind, want := range map[string]string{
		"Deployment": `{"spec":{"paused":false}}`, "CloneSet": `{"spec":{"updateStrategy":{"paused":false}}}`, "InPlaceSet": `{"spec":{"strategy":{"paused":false}}}`,
		"CafeDeployment": `{"spec":{"strategy":{"pause":false}}}`, "Advanced": `{"spec":{"updateStrategy":{"rollingUpdate":{"paused":false}}}}`,
		"Flock": `{"spec":{"rests":false}}`,
	} {
		t.Run(kind, func(t *testing.T) {
			o := workload(t, kind, nil)
			kindNamed(t, kind).places().paused.set(o, true)
			s := server(t, o, bothRevisions(t)...)
			act(t, s, observe(t, kind, s, Ask{}), holdIn(rolloutv1alpha1.InPlaceMode, 0))
			seen := observe(t, kind, s, Ask{})
			if w := seen.Workload; !w.Paused || w.Frozen != (kind == "CafeDeployment") || w.Unkept != "" {
				t.Errorf("held, it is seen as %+v", w)
			}
			steps := act(t, s, seen, engine.Unpause{Because: because})
			if len(steps) != 1 || patchOf(t, steps[0]) != want {
				t.Errorf("got %d steps: %s", len(steps), patchOf(t, steps[0]))
			}
			after := observe(t, kind, s, Ask{})
			if again, err := Steps(after, holder, engine.Unpause{Because: because}); after.Workload.Paused || err != nil || len(again) > 0 {
				t.Errorf("once more is %v, %v: %+v", again, err, after.Workload)
			}
		})
	}
}

// The server drops what its definition of the kind does not know.
func TestAPartitionThatTheServerDropsIsNoticed(t *testing.T) {
	for _, kind := range []string{"CloneSet", "InPlaceSet", "CafeDeployment", "Advanced", "StatefulSet", "Flock"} {
		t.Run(kind, func(t *testing.T) {
			partition := kindNamed(t, kind).places().partition
			o := workload(t, kind, nil)
			partition.remove(o)
			s := server(t, o, append(bothRevisions(t), five...)...)
			if w := observe(t, kind, s, Ask{}).Workload; w.Unkept != "" {
				t.Errorf("nothing was written yet, and %s is missed", w.Unkept)
			}
			act(t, s, observe(t, kind, s, Ask{}), holdIn(rolloutv1alpha1.InPlaceMode, 0))
			if w := observe(t, kind, s, Ask{}).Workload; w.Unkept != "" {
				t.Errorf("%s is missed", w.Unkept)
			}
			o = stored(t, kind, s)
			partition.remove(o)
			if err := s.Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if w := observe(t, kind, s, Ask{}).Workload; w.Unkept != partition.String() {
				t.Errorf("missed is %q, want %q", w.Unkept, partition)
			}
		})
	}
}

func TestARelease(t *testing.T) {
	mode := rolloutv1alpha1.InPlaceMode
	for sentence, c := range map[string]struct {
		kind    string
		change  fields
		release engine.Release
		want    string
	}{
		"a CloneSet that succeeded":           {"CloneSet", nil, engine.Release{Mode: mode, Opens: true}, `{"spec":{"updateStrategy":{"partition":0}}}`},
		"a CloneSet that did not stays":       {"CloneSet", nil, engine.Release{Mode: mode, Asked: 2}, `{"spec":{"updateStrategy":{"partition":3}}}`},
		"a CafeDeployment has its groups":     {"CafeDeployment", nil, engine.Release{Mode: mode, Opens: true}, `{"spec":{"strategy":{"partition":null}}}`},
		"one that did not succeed has not":    {"CafeDeployment", nil, engine.Release{Mode: mode, Asked: 2}, `{"spec":{"strategy":{"partition":3}}}`},
		"a StatefulSet":                       {"StatefulSet", nil, engine.Release{Mode: mode, Opens: true}, `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`},
		"one that had OnDelete has it":        {"StatefulSet", fields{"spec.updateStrategy": map[string]any{"type": "OnDelete"}}, engine.Release{Mode: mode, Opens: true}, `{"spec":{"updateStrategy":{"rollingUpdate":null,"type":"OnDelete"}}}`},
		"also when it did not succeed":        {"StatefulSet", fields{"spec.updateStrategy": map[string]any{"type": "OnDelete"}}, engine.Release{Mode: mode}, `{"spec":{"updateStrategy":{"rollingUpdate":null,"type":"OnDelete"}}}`},
		"a DaemonSet has its strategy":        {"DaemonSet", fields{"spec.updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": int64(2)}}}, engine.Release{Mode: mode, Opens: true}, `{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":2},"type":"RollingUpdate"}}}`},
		"or OnDelete, when it did not":        {"DaemonSet", fields{"spec.updateStrategy": map[string]any{"type": "RollingUpdate"}}, engine.Release{Mode: mode}, `{}`},
		"a kind that is described by paths":   {"Flock", nil, engine.Release{Mode: mode, Opens: true}, `{"spec":{"keep":0}}`},
		"one that was scaled stays as it is ": {"CloneSet", nil, engine.Release{Mode: rolloutv1alpha1.ScaleMode, Opens: true}, `{}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := held(t, c.kind, c.change, five...)
			c.release.Because = because
			steps := act(t, s, observe(t, c.kind, s, Ask{}), c.release)
			if len(steps) != 1 {
				t.Fatalf("got %d steps", len(steps))
			}
			got := map[string]any{}
			if err := json.Unmarshal([]byte(patchOf(t, steps[0])), &got); err != nil {
				t.Fatal(err)
			}
			wantMeta := map[string]any{"annotations": nil, "labels": nil, "ownerReferences": nil}
			if diff := cmp.Diff(any(wantMeta), got["metadata"]); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
			delete(got, "metadata")
			rest, err := json.Marshal(got)
			if err != nil || string(rest) != c.want {
				t.Errorf("got %s, %v, want %s", rest, err, c.want)
			}
			if after := observe(t, c.kind, s, Ask{}); after.Workload.Held || after.Workload.Owner != "" {
				t.Errorf("it is still held: %+v", after.Workload)
			}
		})
	}
}

func TestOnlyWhatIsOursIsTakenOff(t *testing.T) {
	other := map[string]any{"apiVersion": "a/v1", "kind": "Application", "name": "all", "uid": "tracker", "controller": true}
	s := held(t, "CloneSet", fields{"metadata.ownerReferences": []any{other}, "metadata.labels": map[string]any{"a": "b"}, "metadata.annotations": map[string]any{"c": "d"}})
	o := stored(t, "CloneSet", s)
	if refs := o.GetOwnerReferences(); len(refs) != 2 || refs[0].Controller != nil || !*refs[1].Controller || *refs[1].BlockOwnerDeletion {
		t.Fatalf("there can be one controller only, and there are %+v", refs)
	}
	act(t, s, observe(t, "CloneSet", s, Ask{}), engine.Release{Because: because, Mode: rolloutv1alpha1.InPlaceMode})
	o = stored(t, "CloneSet", s)
	if refs := o.GetOwnerReferences(); len(refs) != 1 || refs[0].UID != "tracker" || !*refs[0].Controller || len(o.GetLabels()) != 1 || len(o.GetAnnotations()) != 1 {
		t.Errorf("left are %+v, %v, %v", refs, o.GetLabels(), o.GetAnnotations())
	}
}

func TestWhoHoldsAWorkload(t *testing.T) {
	mine := map[string]any{"apiVersion": "standard.oam.dev/v1alpha1", "kind": "RolloutTrait", "name": "release", "uid": "r-uid", "controller": true}
	theirs := map[string]any{"apiVersion": "standard.oam.dev/v1alpha1", "kind": "RolloutTrait", "name": "other", "uid": "o-uid", "controller": true}
	record := func(holder, of string) map[string]any {
		return map[string]any{rolloutv1alpha1.AnnotationHeld: fmt.Sprintf(`{"holder":%q,"of":%q,"novelty":1}`, holder, of)}
	}
	for sentence, c := range map[string]struct {
		refs        []any
		annotations map[string]any
		held        bool
		owner       string
	}{
		"nobody":                         {nil, nil, false, ""},
		"we do":                          {[]any{mine}, record("r-uid", "w-uid"), true, ""},
		"we do, and our record was lost": {[]any{mine}, nil, true, ""},
		"we do, and our reference was lost with a rollout that left its dependents": {nil, record("r-uid", "w-uid"), true, ""},
		"somebody else does":            {[]any{theirs}, record("o-uid", "w-uid"), false, "RolloutTrait other"},
		"somebody else has taken over":  {[]any{theirs}, record("r-uid", "w-uid"), false, "RolloutTrait other"},
		"somebody else did, and died":   {nil, record("o-uid", "w-uid"), false, ""},
		"it is a copy of what we held":  {[]any{mine}, record("r-uid", "of another"), false, ""},
		"nobody can read what was kept": {[]any{mine}, map[string]any{rolloutv1alpha1.AnnotationHeld: "{"}, false, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			change := fields{}
			if c.refs != nil {
				change["metadata.ownerReferences"] = c.refs
			}
			if c.annotations != nil {
				change["metadata.annotations"] = c.annotations
			}
			s := server(t, workload(t, "CloneSet", change), bothRevisions(t)...)
			got := observe(t, "CloneSet", s, Ask{})
			if got.Workload.Held != c.held || got.Workload.Owner != c.owner {
				t.Errorf("held %v by %q, want %v by %q", got.Workload.Held, got.Workload.Owner, c.held, c.owner)
			}
			if c.held || c.owner != "" {
				return
			}
			act(t, s, got, holdIn(rolloutv1alpha1.InPlaceMode, 0))
			if after := observe(t, "CloneSet", s, Ask{Before: true}); !after.Workload.Held || !after.Workload.Before.Known {
				t.Errorf("it cannot be held: %+v", after.Workload)
			}
		})
	}
}

// TestToHoldAndToLetGoLeavesWhatWasThere: the partition and the pause apart, which are as a rollout that has ended leaves them.
func TestToHoldAndToLetGoLeavesWhatWasThere(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		kind := rapid.SampledFrom(append([]string{"Deployment", "Herd"}, versioned...)).Draw(r, "kind")
		mode := rapid.SampledFrom([]rolloutv1alpha1.RolloutMode{rolloutv1alpha1.ScaleMode, rolloutv1alpha1.InPlaceMode, rolloutv1alpha1.TwoObjectsMode}).Draw(r, "mode")
		where := kindNamed(t, kind).places()
		o := workload(t, kind, nil)
		if len(where.paused) > 0 && rapid.Bool().Draw(r, "paused") {
			where.paused.set(o, rapid.Bool().Draw(r, "is paused"))
		}
		if rapid.Bool().Draw(r, "labels") {
			o.SetLabels(map[string]string{"a": "b"})
		}
		s := server(t, o, append(bothRevisions(t), five...)...)
		first := stored(t, kind, s)
		act(t, s, observe(t, kind, s, Ask{}), holdIn(mode, 0))
		act(t, s, observe(t, kind, s, Ask{}), engine.Release{Because: because, Mode: mode, Asked: 0})
		last := stored(t, kind, s)
		for _, p := range []path{where.partition, where.paused, in("metadata", "resourceVersion"), in("metadata", "generation")} {
			if len(p) > 0 && (mode != rolloutv1alpha1.ScaleMode || p[0] == "metadata") {
				p.remove(first)
				p.remove(last)
			}
		}
		if diff := cmp.Diff(first.Object, last.Object); diff != "" {
			r.Errorf("%s (-before +after):\n%s", kind, diff)
		}
	})
}

// What tells the watch of a held workload is put back by the next write, whatever that is for; nothing else is touched.
func TestWhatMarksAHeldWorkloadIsPutBack(t *testing.T) {
	without := map[string]func(*unstructured.Unstructured){
		"the label":     func(o *unstructured.Unstructured) { o.SetLabels(nil) },
		"another label": func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{rolloutv1alpha1.LabelHeld: "maybe"}) },
		"the owner":     func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) },
		"both": func(o *unstructured.Unstructured) {
			o.SetLabels(nil)
			o.SetOwnerReferences(nil)
		},
	}
	for sentence, take := range without {
		for what, a := range map[string]engine.Action{
			"by itself": engine.Mark{Because: because}, "with a batch": engine.Advance{Because: because, To: 2}, "with a size": engine.Resize{Because: because, To: 7},
		} {
			t.Run(sentence+", "+what, func(t *testing.T) {
				s := held(t, "CloneSet", nil)
				before := stored(t, "CloneSet", s)
				if observe(t, "CloneSet", s, Ask{}).Workload.Unmarked {
					t.Fatal("it is not marked at first")
				}
				o := before.DeepCopy()
				take(o)
				if err := s.Update(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				seen := observe(t, "CloneSet", s, Ask{})
				if !seen.Workload.Held || !seen.Workload.Unmarked {
					t.Fatalf("held %t, unmarked %t", seen.Workload.Held, seen.Workload.Unmarked)
				}
				if steps := act(t, s, seen, a); len(steps) != 1 {
					t.Fatalf("it takes %d steps", len(steps))
				}
				after := stored(t, "CloneSet", s)
				if diff := cmp.Diff([]any{before.GetLabels(), before.GetOwnerReferences()}, []any{after.GetLabels(), after.GetOwnerReferences()}); diff != "" {
					t.Errorf("(-before +after):\n%s", diff)
				}
				if observe(t, "CloneSet", s, Ask{}).Workload.Unmarked {
					t.Error("it is still not marked")
				}
			})
		}
	}
}

func TestAMarkThatStandsIsNotWritten(t *testing.T) {
	other := map[string]any{"apiVersion": "a/v1", "kind": "Application", "name": "all", "uid": "tracker"}
	s := held(t, "CloneSet", nil)
	o := stored(t, "CloneSet", s)
	put(o, fields{"metadata.ownerReferences": append(in("metadata", "ownerReferences").get(o).([]any), other)}) // behind ours
	if err := s.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if steps, err := Steps(observe(t, "CloneSet", s, Ask{}), holder, engine.Mark{Because: because}); err != nil || len(steps) > 0 {
		t.Errorf("got %v, %v", steps, err)
	}
}
