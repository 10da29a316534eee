// SPDX-License-Identifier: Apache-2.0

package statefulset_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/stage"
)

func TestWritesPerPod(t *testing.T) {
	note := func(s *kruisev1beta1.StatefulSet) { s.Spec.Template.Annotations = map[string]string{"note": "x"} }
	for sentence, c := range map[string]struct {
		set  *builders.StatefulSetBuilder
		edit edit
		want []string // are the writes of one pod
	}{
		"a pod with the gate is created in two": {
			ordered(0).InPlace(), replicas(4), []string{"create pods", "update status of pods"},
		},
		"one without in one": {ordered(0), replicas(4), []string{"create pods"}},
		"an update in place takes three": {
			ordered(4).InPlace(), image(v2), []string{"update status of pods", "update pods", "update status of pods"},
		},
		"one that restarts nothing a single one":              {ordered(4).InPlace(), note, []string{"update pods"}},
		"a new pod without the gate for an old one takes two": {ordered(4), image(v2), []string{"mark pods", "create pods"}},
		"one with the gate three": {
			ordered(4).InPlace(), func(s *kruisev1beta1.StatefulSet) {
				s.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", Value: "fast"}}
			},
			[]string{"mark pods", "create pods", "update status of pods"},
		},
		"a scale-in takes one": {ordered(4), replicas(0), []string{"mark pods"}},
		"and all the same in parallel": {
			parallel(4).InPlace(), image(v2), []string{"update status of pods", "update pods", "update status of pods"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := enter(t, c.set)
			r.Settle()
			from := len(r.Server.Log())
			r.Edit(c.edit)
			r.Settle()
			of := map[string][]string{}
			for _, w := range r.Writes(from) {
				if what, name, isPod := strings.Cut(w, " web-"); isPod && strings.HasSuffix(what, "pods") {
					of[name] = append(of[name], what)
				}
			}
			want := map[string][]string{"0": c.want, "1": c.want, "2": c.want, "3": c.want}
			if diff := cmp.Diff(want, of); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// Every member of the status is compared, one that only people read as well.
func TestWhateverDiffersInTheStatusIsWritten(t *testing.T) {
	r := enter(t, ordered(2).Claim("data", "1Gi"))
	r.Settle()
	want := r.Set().Status
	whole, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&want)
	if err != nil {
		t.Fatal(err)
	}
	for sentence, spoil := range map[string]func(*kruisev1beta1.StatefulSetStatus){
		"observedGeneration":       func(s *kruisev1beta1.StatefulSetStatus) { s.ObservedGeneration-- },
		"replicas":                 func(s *kruisev1beta1.StatefulSetStatus) { s.Replicas++ },
		"readyReplicas":            func(s *kruisev1beta1.StatefulSetStatus) { s.ReadyReplicas++ },
		"availableReplicas":        func(s *kruisev1beta1.StatefulSetStatus) { s.AvailableReplicas++ },
		"currentReplicas":          func(s *kruisev1beta1.StatefulSetStatus) { s.CurrentReplicas++ },
		"updatedReplicas":          func(s *kruisev1beta1.StatefulSetStatus) { s.UpdatedReplicas++ },
		"updatedReadyReplicas":     func(s *kruisev1beta1.StatefulSetStatus) { s.UpdatedReadyReplicas++ },
		"updatedAvailableReplicas": func(s *kruisev1beta1.StatefulSetStatus) { s.UpdatedAvailableReplicas++ },
		"currentRevision":          func(s *kruisev1beta1.StatefulSetStatus) { s.CurrentRevision = "" },
		"updateRevision":           func(s *kruisev1beta1.StatefulSetStatus) { s.UpdateRevision = "" },
		"labelSelector":            func(s *kruisev1beta1.StatefulSetStatus) { s.LabelSelector = "" },
		"volumeClaims":             func(s *kruisev1beta1.StatefulSetStatus) { s.VolumeClaims[0].CompatibleReplicas = 7 },
		"conditions":               func(s *kruisev1beta1.StatefulSetStatus) { s.Conditions[0].Message = "so so" },
	} {
		delete(whole, sentence)
		t.Run(sentence, func(t *testing.T) {
			r.T = t
			r.Must(r.Server.Modify("somebody", api.StatefulSets, stage.Web, api.Status, func(o client.Object) {
				spoil(&o.(*kruisev1beta1.StatefulSet).Status)
			}))
			r.Settle()
			if diff := cmp.Diff(want, r.Set().Status, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
	if len(whole) > 0 {
		t.Errorf("members of the status that this test forgets: %v", whole)
	}
}

// Somebody else's revision may have the name that ours would get.
func TestATemplateWithANameThatIsTakenGetsAnotherRevision(t *testing.T) {
	foretold := enter(t, ordered(1))
	foretold.Settle()
	foretold.Edit(image(v2))
	foretold.Settle()
	name := foretold.Set().Status.UpdateRevision

	r := enter(t, ordered(1))
	r.Settle()
	stranger := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace: builders.Namespace, Name: name,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "web", UID: "other", Controller: ptr.To(true)}},
	}}
	stranger.Data.Raw = []byte(`{}`)
	before := r.create(stranger)
	r.Edit(image(v2))
	for range 3 { // the first pass is refused
		_ = r.Pass()
	}
	r.Settle()
	status := r.Set().Status
	if status.UpdateRevision == name || status.CurrentRevision != status.UpdateRevision || ptr.Deref(status.CollisionCount, 0) != 1 || status.UpdatedReplicas != 1 {
		t.Errorf("status is %+v", status)
	}
	if diff := cmp.Diff(before, r.Server.Get(api.Revisions, client.ObjectKeyFromObject(stranger))); diff != "" {
		t.Errorf("the revision of somebody else has changed:\n%s", diff)
	}
}

// One pod that can never be deleted holds up no other, and one that can never be created neither.
func TestAPodWhoseWriteFailsForEverStopsNoOther(t *testing.T) {
	r := enter(t, parallel(4))
	r.Settle()
	r.Edit(replicas(1))
	r.Door.Refuse, r.Door.Only = "delete pods", "web-3"
	failed := 0
	for range 6 {
		r.Nodes()
		if r.Pass() != nil {
			failed++
		}
	}
	if got := r.names(); got != "web-0 web-3" || failed == 0 {
		t.Errorf("pods are %s after %d passes with a failure", got, failed)
	}
	r.Door.Only = ""
	r.Door.Refuse = ""
	r.Settle()

	r.Door.Refuse, r.Door.Only = "create pods", "web-1"
	r.Edit(replicas(4))
	for range 6 {
		r.Nodes()
		_ = r.Pass()
	}
	if got := r.names(); got != "web-0 web-2 web-3" {
		t.Errorf("pods are %s", got)
	}
	if got := r.condition(kruisev1beta1.StatefulSetConditionFailedCreatePod); !strings.HasPrefix(got, "True : StatefulPodControl failed to create Pod error: creating pod web-1: ") {
		t.Errorf("FailedCreatePod is %q", got)
	}
}

func (r *room) names() string {
	var names []string
	for _, p := range r.pods() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
