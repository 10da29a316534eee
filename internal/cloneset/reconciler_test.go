// SPDX-License-Identifier: Apache-2.0

package cloneset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
)

const v1, v2 = builders.Image, "registry.test/app:v2"

type edit = func(*kruisev1alpha1.CloneSet)

func replicas(n int32) edit { return func(s *kruisev1alpha1.CloneSet) { s.Spec.Replicas = ptr.To(n) } }

func image(i string) edit {
	return func(s *kruisev1alpha1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = i }
}

func variable(value string) edit {
	return func(s *kruisev1alpha1.CloneSet) {
		s.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", Value: value}}
	}
}

func mounting(volume string) edit {
	return func(s *kruisev1alpha1.CloneSet) {
		s.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: volume, MountPath: "/data"}}
	}
}

func inPlace(n int32) *builders.CloneSetBuilder {
	return builders.CloneSet("web").Replicas(n).InPlace().MaxUnavailable("1")
}

func recreating(n int32) *builders.CloneSetBuilder {
	return builders.CloneSet("web").Replicas(n).MaxUnavailable("1")
}

// TestOnePass tells passes of the reconciler from the outside: a set that has come to rest, an edit, and what the next
// look that acts on it writes and tells.
func TestOnePass(t *testing.T) {
	for sentence, c := range map[string]struct {
		set    *builders.CloneSetBuilder
		edits  []edit
		pod    func(*corev1.Pod) // is what happens to the status of the first pod
		refuse string
		writes []string
		events []string
	}{
		"a set at rest": {set: inPlace(2)},
		"a default that is spelled out changes nothing": {
			set: inPlace(2), edits: []edit{func(s *kruisev1alpha1.CloneSet) {
				s.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
				s.Spec.Template.Spec.Containers[0].TerminationMessagePath = corev1.TerminationMessagePathDefault
			}},
		},
		"pods are created": {
			set: inPlace(0), edits: []edit{replicas(2)},
			writes: []string{"create pods web-1", "create pods web-2"},
			events: []string{"Normal SuccessfulCreate on web, Pod web-1: pod web-1, web-2: 2 of 2 pods are missing"},
		},
		"a creation is refused, and no other is tried": {
			set: inPlace(0), edits: []edit{replicas(2)}, refuse: "create pods",
			events: []string{`Warning FailedCreate on web, Pod web-new: creating pod web-new: forbidden: a rule says no`},
		},
		"pods are scaled in": {
			set: inPlace(2), edits: []edit{replicas(0)},
			writes: []string{"mark pods web-2", "mark pods web-1"},
			events: []string{"Normal SuccessfulDelete on web, Pod web-2: pod web-2, web-1: there are 2 pods more than wanted"},
		},
		"a deletion is refused": {
			set: inPlace(1), edits: []edit{replicas(0)}, refuse: "delete pods",
			events: []string{"Warning FailedDelete on web, Pod web-1: deleting pod web-1: forbidden: a rule says no"},
		},
		"a release in place": {
			set: inPlace(2), edits: []edit{image(v2)},
			writes: []string{"create controllerrevisions web-r2", "update status of pods web-2", "update pods web-2"},
			events: []string{"Normal SuccessfulUpdatePodInPlace on web, Pod web-2: pod web-2: revision r2 replaces r1: image of app to registry.test/app:v2"},
		},
		"a change in place is refused": {
			set: inPlace(2), edits: []edit{image(v2)}, refuse: "patch pods",
			writes: []string{"create controllerrevisions web-r2", "update status of pods web-2"},
			events: []string{"Warning FailedUpdatePodInPlace on web, Pod web-2: patching pod web-2: forbidden: a rule says no"},
		},
		"a release by new pods": {
			set: recreating(2), edits: []edit{image(v2)},
			writes: []string{"create controllerrevisions web-r2", "mark pods web-2"},
			events: []string{"Normal SuccessfulUpdatePodReCreate on web, Pod web-2: pod web-2: revision r2 replaces r1"},
		},
		"a deletion for a release is refused": {
			set: recreating(2), edits: []edit{image(v2)}, refuse: "delete pods",
			writes: []string{"create controllerrevisions web-r2"},
			events: []string{"Warning FailedUpdatePodReCreate on web, Pod web-2: deleting pod web-2: forbidden: a rule says no"},
		},
		"creations are held back": {
			set: inPlace(1).ScaleMaxUnavailable("1"), edits: []edit{replicas(4)},
			writes: []string{"create pods web-2"},
			events: []string{
				"Warning ScaleUpLimited on web: 3 pods are missing, and scaleStrategy.maxUnavailable lets 1 be created now",
				"Normal SuccessfulCreate on web, Pod web-2: pod web-2: 3 of 4 pods are missing",
			},
		},
		"nothing is done for a spec that nobody can act on": {
			set: inPlace(1), edits: []edit{replicas(3), func(s *kruisev1alpha1.CloneSet) { s.Spec.UpdateStrategy.MaxSurge = ptr.To(intstr.FromString("many")) }},
			events: []string{`Warning InvalidSpec on web: spec.updateStrategy.maxSurge: "many" is not allowed: use an integer of 0 or more, or a percentage such as "20%" or "12.5%"`},
		},
		"a change that no pod may take over does not keep others from being created": {
			set: inPlace(1).Type(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType), edits: []edit{variable("fast"), replicas(2)},
			writes: []string{"create controllerrevisions web-r2", "create pods web-2"},
			events: []string{"Normal SuccessfulCreate on web, Pod web-2: pod web-2: 1 of 2 pods are missing"},
		},
		"a change that no pod may take over": {
			set: inPlace(1).Type(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType), edits: []edit{variable("fast")},
			writes: []string{"create controllerrevisions web-r2"},
			events: []string{"Warning UpdateRefused on web: pod web-1: spec.containers[app].env cannot change in place, and updateStrategy.type is InPlaceOnly"},
		},
		"a template whose pods cannot be made": {
			set: inPlace(0), edits: []edit{replicas(1), mounting("data")},
			writes: []string{"create controllerrevisions web-r2"},
			events: []string{`Warning FailedCreate on web: pods of revision web-r2 cannot be created: container app mounts volume "data", for which there is neither a volume nor a claim template`},
		},
		"a claim is refused": {
			set: inPlace(0).Claim("data"), edits: []edit{replicas(1)}, refuse: "create persistentvolumeclaims",
			events: []string{"Warning FailedCreate on web, PersistentVolumeClaim data-web-new: creating claim data-web-new: forbidden: a rule says no"},
		},
		"the deletion of a claim is refused": {
			set: inPlace(1).Claim("data"), edits: []edit{replicas(0)}, refuse: "delete persistentvolumeclaims",
			writes: []string{"mark pods web-1"},
			events: []string{
				"Normal SuccessfulDelete on web, Pod web-1: pod web-1: there are 1 pods more than wanted",
				"Warning FailedDelete on web, PersistentVolumeClaim data-web-1: deleting claim data-web-1: forbidden: a rule says no",
			},
		},
		"a claim cannot be given to its pod": {
			set: inPlace(1).Claim("data").With(func(s *kruisev1alpha1.CloneSet) { s.Spec.ScaleStrategy.DisablePVCReuse = true }), refuse: "patch persistentvolumeclaims",
			pod:    func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
			writes: []string{"create persistentvolumeclaims data-web-2", "create pods web-2"},
			events: []string{
				"Warning FailedUpdate on web, PersistentVolumeClaim data-web-1: patching claim data-web-1: forbidden: a rule says no",
				"Normal SuccessfulCreate on web, Pod web-2: pod web-2: 1 of 1 pods are missing",
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := enter(t, c.set)
			r.settle()
			for _, change := range c.edits {
				r.edit(change)
			}
			if c.pod != nil {
				r.editPod(0, api.Status, c.pod)
			}
			from, recorded := len(r.server.Log()), len(r.revisions())
			r.told, r.door.refuse = nil, c.refuse
			err := r.pass()
			if err == nil && len(r.revisions()) > recorded {
				err = r.pass() // before, only the template was recorded
			}
			if (err != nil) != (c.refuse != "") {
				t.Errorf("error %v, refused is %q", err, c.refuse)
			}
			if diff := cmp.Diff(c.writes, r.writes(from), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.events, r.events(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

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
