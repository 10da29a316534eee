// SPDX-License-Identifier: Apache-2.0

package cloneset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/stage"
)

// Whoever watches a set must see a trouble begin and end, and not hear of it again and again.
func TestTroubleIsToldOnceAndTakenBack(t *testing.T) {
	r := enter(t, inPlace(1).Type(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType))
	r.Settle()
	r.Told = nil
	r.Edit(variable("fast"))
	r.Settle()
	r.Clock.SetTime(r.Clock.Now().Add(time.Hour))
	r.Settle()
	if len(r.Told) != 1 {
		t.Errorf("events %q, want one", r.Events())
	}
	const why = "pod web-1: spec.containers[app].env cannot change in place, and updateStrategy.type is InPlaceOnly"
	if got := r.condition(kruisev1alpha1.CloneSetConditionFailedUpdate); got != "True : "+why {
		t.Errorf("FailedUpdate is %q", got)
	}
	if got := r.condition(kruisev1alpha1.CloneSetConditionStalled); got != "True UpdateRefused: "+why {
		t.Errorf("Stalled is %q", got)
	}

	from, generation := len(r.Server.Log()), r.Set().Generation
	r.Edit(variable("faster"))
	r.Edit(func(s *kruisev1alpha1.CloneSet) { s.Spec.Template.Spec.Containers[0].Env = nil })
	r.Settle()
	for _, kind := range []kruisev1alpha1.CloneSetConditionType{kruisev1alpha1.CloneSetConditionFailedUpdate, kruisev1alpha1.CloneSetConditionStalled} {
		if got := r.condition(kind); got != "False : " {
			t.Errorf("%s is %q", kind, got)
		}
	}
	if diff := cmp.Diff([]string{"update controllerrevisions web-r1"}, r.Writes(from)); diff != "" || r.Set().Generation != generation+2 {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// Nothing in the status may be new but a condition.
func TestALargeSetThatFailsIsLeftToTheQueue(t *testing.T) {
	r := enter(t, inPlace(150))
	r.Settle()
	r.Door.Refuse = "create pods"
	r.Edit(func(set *kruisev1alpha1.CloneSet) { set.Spec.Replicas = ptr.To[int32](151) })
	r.Clock.SetTime(r.Clock.Now().Add(time.Minute))
	for look := range 3 { // an answer that is no error would end the queue's patience each time
		if err := r.Pass(); err == nil {
			t.Fatalf("look %d of one moment ends without an error, although the pod cannot be created", look+1)
		}
	}
}

func TestAConditionThatChangesAloneIsWritten(t *testing.T) {
	r := enter(t, inPlace(1))
	r.Settle()
	r.Edit(replicas(2))
	r.Door.Refuse = "create pods"
	if err := r.Pass(); err == nil {
		t.Fatal("the creation was not refused")
	}
	if got := r.condition(kruisev1alpha1.CloneSetConditionFailedScale); got != "True : creating pod web-new: forbidden: a rule says no" {
		t.Errorf("FailedScale is %q", got)
	}
	r.Edit(replicas(1))
	r.Door.Refuse = ""
	r.Settle()
	if got := r.condition(kruisev1alpha1.CloneSetConditionFailedScale); got != "False : " {
		t.Errorf("after the recovery FailedScale is %q", got)
	}
}

func TestASettledSetCausesNoWrite(t *testing.T) {
	r := enter(t, inPlace(3).Claim("data"))
	r.Settle()
	before := len(r.Server.Log())
	for range 3 {
		r.Clock.SetTime(r.Clock.Now().Add(time.Hour))
		if err := r.Pass(); err != nil {
			t.Fatal(err)
		}
	}
	if after := r.Server.Log()[before:]; len(after) > 0 {
		t.Errorf("%d writes, the first: %s of %s %s", len(after), after[0].Verb, after[0].Kind, after[0].After.GetName())
	}
}

func TestWhatOthersHaveRecordedIsTakenOverAsItIs(t *testing.T) {
	r := enter(t, inPlace(2))
	r.Settle()
	recorded := r.Revisions()[0]
	r.Must(r.Server.Modify("publisher", api.Revisions, client.ObjectKeyFromObject(recorded), api.Main, func(o client.Object) {
		revision := o.(*appsv1.ControllerRevision)
		revision.Labels[kruisev1alpha1.LabelImagePreDownloadIgnored] = "true"
		revision.Data.Raw = []byte(strings.Replace(string(revision.Data.Raw), `"metadata":{`, `"metadata":{"creationTimestamp":null,`, 1))
	}))
	if raw := string(r.Revisions()[0].Data.Raw); !strings.Contains(raw, "null") {
		t.Fatalf("the revision is recorded as %s", raw)
	}
	before := len(r.Server.Log())
	r.Settle()
	if diff := cmp.Diff(0, len(r.Server.Log())-before); diff != "" {
		t.Errorf("taking over wrote %q", r.Writes(before))
	}

	r.Edit(image(v2))
	r.Settle()
	r.Edit(image(v1))
	r.Settle()
	if got := r.Revisions(); len(got) != 2 {
		t.Errorf("%d revisions, want the two templates there have been", len(got))
	}
	kept := r.Server.Get(api.Revisions, client.ObjectKeyFromObject(recorded)).(*appsv1.ControllerRevision)
	if kept.Revision != 3 || kept.Labels[kruisev1alpha1.LabelImagePreDownloadIgnored] != "true" {
		t.Errorf("after the rollback the revision has number %d and labels %v", kept.Revision, kept.Labels)
	}
}

// A view that is older than our own last write decides nothing, and there is always a next look.
func TestAViewThatIsBehindIsLookedAtAgain(t *testing.T) {
	r := enter(t, inPlace(1))
	r.Settle()
	r.Edit(replicas(2))
	if err := r.Pass(); err != nil {
		t.Fatal(err)
	}
	before := len(r.Server.Log())
	for range 3 {
		if err := r.Look(); err != nil { // the cache is told nothing
			t.Fatal(err)
		}
		if r.Looked <= 0 || len(r.Server.Log()) != before {
			t.Errorf("looks again in %s, after %d writes", r.Looked, len(r.Server.Log())-before)
		}
		r.Clock.SetTime(r.Clock.Now().Add(r.Looked))
	}
}

func TestWritesPerPod(t *testing.T) {
	for sentence, c := range map[string]struct {
		set   *builders.CloneSetBuilder
		edits []edit
		want  int
	}{
		"creating a pod takes two": {inPlace(0), []edit{replicas(4)}, 2},
		"an update in place three": {inPlace(4), []edit{image(v2)}, 3},
		"one that restarts nothing a single one": {
			inPlace(4), []edit{func(s *kruisev1alpha1.CloneSet) { s.Spec.Template.Annotations = map[string]string{"note": "x"} }}, 1,
		},
		"a new pod for an old one three": {recreating(4), []edit{image(v2)}, 3},
		"a scale-in one":                 {inPlace(4), []edit{replicas(0)}, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := enter(t, c.set)
			r.Settle()
			from := len(r.Server.Log())
			for _, change := range c.edits {
				r.Edit(change)
			}
			r.Settle()
			var ofPods []string
			for _, w := range r.Writes(from) {
				if strings.Contains(w, "pods") {
					ofPods = append(ofPods, w)
				}
			}
			if len(ofPods) != 4*c.want {
				t.Errorf("%d writes for 4 pods, want %d: %q", len(ofPods), 4*c.want, ofPods)
			}
		})
	}
}

// What other programs and people read in the conditions of a pod while it is updated, and afterwards.
func TestTheGateSaysWhyItIsClosed(t *testing.T) {
	r := enter(t, inPlace(1))
	r.Settle()
	said := func() map[corev1.PodConditionType]string {
		texts := map[corev1.PodConditionType]string{}
		for _, c := range r.Pods()[0].Status.Conditions {
			texts[c.Type] = string(c.Status) + " " + c.Reason
		}
		return texts
	}
	open := map[corev1.PodConditionType]string{kruisev1alpha1.ConditionInPlaceUpdateReady: "True ", corev1.ContainersReady: "True ", corev1.PodReady: "True "}
	if diff := cmp.Diff(open, said()); diff != "" {
		t.Errorf("a new pod (-want +got):\n%s", diff)
	}
	r.Edit(image(v2))
	for range 2 { // the first look records the template
		if err := r.Pass(); err != nil {
			t.Fatal(err)
		}
	}
	closed := map[corev1.PodConditionType]string{
		kruisev1alpha1.ConditionInPlaceUpdateReady: "False StartInPlaceUpdate", corev1.ContainersReady: "True ", corev1.PodReady: "False ReadinessGatesNotReady",
	}
	if diff := cmp.Diff(closed, said()); diff != "" {
		t.Errorf("in the update (-want +got):\n%s", diff)
	}
	r.Settle()
	if diff := cmp.Diff(open, said()); diff != "" {
		t.Errorf("after the update (-want +got):\n%s", diff)
	}
}

func TestASetThatIsBeingDeletedOnlyKeepsItsStatus(t *testing.T) {
	r := enter(t, inPlace(3).With(func(s *kruisev1alpha1.CloneSet) { s.Finalizers = []string{"example.com/orphan"} }))
	r.Settle()
	if err := r.Server.Delete("user", api.CloneSets, stage.Web, nil, nil); err != nil {
		t.Fatal(err)
	}
	r.editPod(0, api.Status, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	from := len(r.Server.Log())
	if err := r.Pass(); err != nil {
		t.Fatal(err)
	}
	if got := r.Set().Status; got.Replicas != 2 || got.ReadyReplicas != 2 || len(r.Writes(from)) > 0 {
		t.Errorf("the status counts %d pods, %d ready; writes %q", got.Replicas, got.ReadyReplicas, r.Writes(from))
	}
}

// Claim templates are not part of a revision; its annotation tells by which of them its newest pods were made.
func TestARevisionTellsTheClaimTemplatesOfItsPods(t *testing.T) {
	r := enter(t, inPlace(1).Claim("data"))
	r.Settle()
	first, pod := r.Revisions()[0], r.Pods()[0]
	r.Edit(image(v2))
	r.Settle()
	r.Edit(func(s *kruisev1alpha1.CloneSet) {
		s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = ptr.To("fast")
	})
	r.Settle()
	if got := r.Revisions(); len(got) != 2 {
		t.Errorf("%d revisions: a claim template made one", len(got))
	}
	r.Edit(image(v1))
	r.Settle()
	want, err := revision.ClaimHash(r.Set().Spec.VolumeClaimTemplates)
	if err != nil {
		t.Fatal(err)
	}
	again := r.Server.Get(api.Revisions, client.ObjectKeyFromObject(first))
	was, is := first.Annotations[kruisev1alpha1.AnnotationClaimTemplateHash], again.GetAnnotations()[kruisev1alpha1.AnnotationClaimTemplateHash]
	if was == "" || was == is || is != want {
		t.Errorf("the hash was %q and is %q after the rollback, want %q", was, is, want)
	}
	if kept := r.Pods(); len(kept) != 1 || kept[0].UID != pod.UID {
		t.Errorf("%d pods, and the first is not the same any more", len(kept))
	}
}
