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
)

// Whoever watches a set must see a trouble begin and end, and not hear of it again and again.
func TestTroubleIsToldOnceAndTakenBack(t *testing.T) {
	r := enter(t, inPlace(1).Type(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType))
	r.settle()
	r.told = nil
	r.edit(variable("fast"))
	r.settle()
	r.clock.SetTime(r.clock.Now().Add(time.Hour))
	r.settle()
	if len(r.told) != 1 {
		t.Errorf("events %q, want one", r.events())
	}
	const why = "pod web-1: spec.containers[app].env cannot change in place, and updateStrategy.type is InPlaceOnly"
	if got := r.condition(kruisev1alpha1.CloneSetConditionFailedUpdate); got != "True : "+why {
		t.Errorf("FailedUpdate is %q", got)
	}
	if got := r.condition(kruisev1alpha1.CloneSetConditionStalled); got != "True UpdateRefused: "+why {
		t.Errorf("Stalled is %q", got)
	}

	from, generation := len(r.server.Log()), r.set().Generation
	r.edit(variable("faster"))
	r.edit(func(s *kruisev1alpha1.CloneSet) { s.Spec.Template.Spec.Containers[0].Env = nil })
	r.settle()
	for _, kind := range []kruisev1alpha1.CloneSetConditionType{kruisev1alpha1.CloneSetConditionFailedUpdate, kruisev1alpha1.CloneSetConditionStalled} {
		if got := r.condition(kind); got != "False : " {
			t.Errorf("%s is %q", kind, got)
		}
	}
	if diff := cmp.Diff([]string{"update controllerrevisions web-r1"}, r.writes(from)); diff != "" || r.set().Generation != generation+2 {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// Nothing in the status may be new but a condition.
func TestALargeSetThatFailsIsLeftToTheQueue(t *testing.T) {
	r := enter(t, inPlace(150))
	r.settle()
	r.door.refuse = "create pods"
	r.edit(func(set *kruisev1alpha1.CloneSet) { set.Spec.Replicas = ptr.To[int32](151) })
	r.clock.SetTime(r.clock.Now().Add(time.Minute))
	for look := range 3 { // an answer that is no error would end the queue's patience each time
		if err := r.pass(); err == nil {
			t.Fatalf("look %d of one moment ends without an error, although the pod cannot be created", look+1)
		}
	}
}

func TestAConditionThatChangesAloneIsWritten(t *testing.T) {
	r := enter(t, inPlace(1))
	r.settle()
	r.edit(replicas(2))
	r.door.refuse = "create pods"
	if err := r.pass(); err == nil {
		t.Fatal("the creation was not refused")
	}
	if got := r.condition(kruisev1alpha1.CloneSetConditionFailedScale); got != "True : creating pod web-new: forbidden: a rule says no" {
		t.Errorf("FailedScale is %q", got)
	}
	r.edit(replicas(1))
	r.door.refuse = ""
	r.settle()
	if got := r.condition(kruisev1alpha1.CloneSetConditionFailedScale); got != "False : " {
		t.Errorf("after the recovery FailedScale is %q", got)
	}
}

func TestASettledSetCausesNoWrite(t *testing.T) {
	r := enter(t, inPlace(3).Claim("data"))
	r.settle()
	before := len(r.server.Log())
	for range 3 {
		r.clock.SetTime(r.clock.Now().Add(time.Hour))
		if err := r.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if after := r.server.Log()[before:]; len(after) > 0 {
		t.Errorf("%d writes, the first: %s of %s %s", len(after), after[0].Verb, after[0].Kind, after[0].After.GetName())
	}
}

func TestWhatOthersHaveRecordedIsTakenOverAsItIs(t *testing.T) {
	r := enter(t, inPlace(2))
	r.settle()
	recorded := r.revisions()[0]
	r.must(r.server.Modify("publisher", api.Revisions, client.ObjectKeyFromObject(recorded), api.Main, func(o client.Object) {
		revision := o.(*appsv1.ControllerRevision)
		revision.Labels[kruisev1alpha1.LabelImagePreDownloadIgnored] = "true"
		revision.Data.Raw = []byte(strings.Replace(string(revision.Data.Raw), `"metadata":{`, `"metadata":{"creationTimestamp":null,`, 1))
	}))
	if raw := string(r.revisions()[0].Data.Raw); !strings.Contains(raw, "null") {
		t.Fatalf("the revision is recorded as %s", raw)
	}
	before := len(r.server.Log())
	r.settle()
	if diff := cmp.Diff(0, len(r.server.Log())-before); diff != "" {
		t.Errorf("taking over wrote %q", r.writes(before))
	}

	r.edit(image(v2))
	r.settle()
	r.edit(image(v1))
	r.settle()
	if got := r.revisions(); len(got) != 2 {
		t.Errorf("%d revisions, want the two templates there have been", len(got))
	}
	kept := r.server.Get(api.Revisions, client.ObjectKeyFromObject(recorded)).(*appsv1.ControllerRevision)
	if kept.Revision != 3 || kept.Labels[kruisev1alpha1.LabelImagePreDownloadIgnored] != "true" {
		t.Errorf("after the rollback the revision has number %d and labels %v", kept.Revision, kept.Labels)
	}
}

// A view that is older than our own last write decides nothing, and there is always a next look.
func TestAViewThatIsBehindIsLookedAtAgain(t *testing.T) {
	r := enter(t, inPlace(1))
	r.settle()
	r.edit(replicas(2))
	if err := r.pass(); err != nil {
		t.Fatal(err)
	}
	before := len(r.server.Log())
	for range 3 {
		if err := r.look(); err != nil { // the cache is told nothing
			t.Fatal(err)
		}
		if r.looked <= 0 || len(r.server.Log()) != before {
			t.Errorf("looks again in %s, after %d writes", r.looked, len(r.server.Log())-before)
		}
		r.clock.SetTime(r.clock.Now().Add(r.looked))
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
			r.settle()
			from := len(r.server.Log())
			for _, change := range c.edits {
				r.edit(change)
			}
			r.settle()
			var ofPods []string
			for _, w := range r.writes(from) {
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
	r.settle()
	said := func() map[corev1.PodConditionType]string {
		texts := map[corev1.PodConditionType]string{}
		for _, c := range r.pods()[0].Status.Conditions {
			texts[c.Type] = string(c.Status) + " " + c.Reason
		}
		return texts
	}
	open := map[corev1.PodConditionType]string{kruisev1alpha1.ConditionInPlaceUpdateReady: "True ", corev1.ContainersReady: "True ", corev1.PodReady: "True "}
	if diff := cmp.Diff(open, said()); diff != "" {
		t.Errorf("a new pod (-want +got):\n%s", diff)
	}
	r.edit(image(v2))
	for range 2 { // the first look records the template
		if err := r.pass(); err != nil {
			t.Fatal(err)
		}
	}
	closed := map[corev1.PodConditionType]string{
		kruisev1alpha1.ConditionInPlaceUpdateReady: "False StartInPlaceUpdate", corev1.ContainersReady: "True ", corev1.PodReady: "False ReadinessGatesNotReady",
	}
	if diff := cmp.Diff(closed, said()); diff != "" {
		t.Errorf("in the update (-want +got):\n%s", diff)
	}
	r.settle()
	if diff := cmp.Diff(open, said()); diff != "" {
		t.Errorf("after the update (-want +got):\n%s", diff)
	}
}

func TestASetThatIsBeingDeletedOnlyKeepsItsStatus(t *testing.T) {
	r := enter(t, inPlace(3).With(func(s *kruisev1alpha1.CloneSet) { s.Finalizers = []string{"example.com/orphan"} }))
	r.settle()
	if err := r.server.Delete("user", api.CloneSets, web, nil, nil); err != nil {
		t.Fatal(err)
	}
	r.editPod(0, api.Status, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	from := len(r.server.Log())
	if err := r.pass(); err != nil {
		t.Fatal(err)
	}
	if got := r.set().Status; got.Replicas != 2 || got.ReadyReplicas != 2 || len(r.writes(from)) > 0 {
		t.Errorf("the status counts %d pods, %d ready; writes %q", got.Replicas, got.ReadyReplicas, r.writes(from))
	}
}

// Claim templates are not part of a revision; its annotation tells by which of them its newest pods were made.
func TestARevisionTellsTheClaimTemplatesOfItsPods(t *testing.T) {
	r := enter(t, inPlace(1).Claim("data"))
	r.settle()
	first, pod := r.revisions()[0], r.pods()[0]
	r.edit(image(v2))
	r.settle()
	r.edit(func(s *kruisev1alpha1.CloneSet) {
		s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = ptr.To("fast")
	})
	r.settle()
	if got := r.revisions(); len(got) != 2 {
		t.Errorf("%d revisions: a claim template made one", len(got))
	}
	r.edit(image(v1))
	r.settle()
	want, err := revision.ClaimHash(r.set().Spec.VolumeClaimTemplates)
	if err != nil {
		t.Fatal(err)
	}
	again := r.server.Get(api.Revisions, client.ObjectKeyFromObject(first))
	was, is := first.Annotations[kruisev1alpha1.AnnotationClaimTemplateHash], again.GetAnnotations()[kruisev1alpha1.AnnotationClaimTemplateHash]
	if was == "" || was == is || is != want {
		t.Errorf("the hash was %q and is %q after the rollback, want %q", was, is, want)
	}
	if kept := r.pods(); len(kept) != 1 || kept[0].UID != pod.UID {
		t.Errorf("%d pods, and the first is not the same any more", len(kept))
	}
}
