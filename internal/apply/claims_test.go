// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

func claimNamed(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: name}}
}

func TestAPodAndItsClaimsAreOneUnit(t *testing.T) {
	full := errors.New("exceeded quota")
	taken := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "persistentvolumeclaims"}, "data-web-a")
	create := []step.Step{
		step.CreateClaim{Claim: claimNamed("data-web-a"), Pod: "web-a"}, step.CreatePod{Pod: newPodNamed("web-a")},
		step.CreateClaim{Claim: claimNamed("data-web-b"), Pod: "web-b"}, step.CreatePod{Pod: newPodNamed("web-b")},
	}
	for sentence, c := range map[string]struct {
		steps  []step.Step
		failed string
		err    error
		want   []string
	}{
		"claims are created before their pod": {
			steps: create, want: []string{"create data-web-a", "create web-a", "create data-web-b", "create web-b"},
		},
		"a claim that fails keeps its pod from being created, and what comes later too": {
			steps: create, failed: "create data-web-a", err: full, want: []string{"create data-web-a"},
		},
		"a claim that is there already keeps only its own pod": {
			steps: create, failed: "create data-web-a", err: taken, want: []string{"create data-web-a", "create data-web-b", "create web-b"},
		},
		"claims are deleted after their pod": {
			steps: []step.Step{
				step.DeletePod{Target: step.Target{Namespace: builders.Namespace, Name: "web-c"}},
				step.DeleteClaim{Target: step.Target{Namespace: builders.Namespace, Name: "data-web-c"}, Pod: "web-c"},
			},
			want: []string{"delete web-c", "delete data-web-c"},
		},
		"and not at all when their pod was not": {
			steps: []step.Step{
				step.DeletePod{Target: step.Target{Namespace: builders.Namespace, Name: "web-c"}},
				step.DeleteClaim{Target: step.Target{Namespace: builders.Namespace, Name: "data-web-c"}, Pod: "web-c"},
			},
			failed: "delete web-c", err: full, want: []string{"delete web-c"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := serve(t, builders.Pod("web-c").Build(), claimNamed("data-web-c"))
			for i, each := range c.steps { // deletions need the versions that the server gave
				switch each := each.(type) {
				case step.DeletePod:
					each.Target = step.On(s.pod(t, "web-c"))
					c.steps[i] = each
				case step.DeleteClaim:
					each.Target = step.On(s.claim(t, "data-web-c"))
					c.steps[i] = each
				}
			}
			s.fail = func(write string) error {
				if write == c.failed {
					return c.err
				}
				return nil
			}
			outcomes := s.take(t, c.steps...)
			if diff := cmp.Diff(c.want, s.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if len(outcomes) != len(c.want) {
				t.Errorf("%d outcomes of %d writes", len(outcomes), len(c.want))
			}
		})
	}
}

func (s *server) claim(t *testing.T, name string) *corev1.PersistentVolumeClaim {
	t.Helper()
	c := &corev1.PersistentVolumeClaim{}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: builders.Namespace, Name: name}, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAClaimIsGivenToItsPod(t *testing.T) {
	s := serve(t, claimNamed("data-web-a"))
	owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web-a", UID: "u"}}
	seen := step.On(s.claim(t, "data-web-a"))
	if err := apply.Errors(s.take(t, step.GiveClaim{Target: seen, Pod: "web-a", Owners: owners})); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(owners, s.claim(t, "data-web-a").OwnerReferences); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	if !apply.Conflicts(s.take(t, step.GiveClaim{Target: seen, Pod: "web-a", Owners: nil})) {
		t.Error("an old view changed the claim")
	}
}

func TestAClaimIsGivenToNobody(t *testing.T) {
	c := claimNamed("data-web-0")
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web-0", UID: "u"}}
	s := serve(t, c)
	if err := apply.Errors(s.take(t, step.GiveClaim{Target: step.On(s.claim(t, "data-web-0")), Pod: "web-0"})); err != nil {
		t.Fatal(err)
	}
	if owners := s.claim(t, "data-web-0").OwnerReferences; len(owners) > 0 {
		t.Errorf("owners %v", owners)
	}
}

func TestAClaimIsGivenToItsPodBeforeThatIsDeleted(t *testing.T) {
	s := serve(t, claimNamed("data-web-0"), builders.Pod("web-0").Build())
	s.fail = func(write string) error {
		if write == "patch data-web-0" {
			return errors.New("no")
		}
		return nil
	}
	s.take(t, step.GiveClaim{Target: step.On(s.claim(t, "data-web-0")), Pod: "web-0"}, step.DeletePod{Target: step.On(s.pod(t, "web-0"))})
	if diff := cmp.Diff([]string{"patch data-web-0"}, s.writes); diff != "" {
		t.Errorf("the pod is not deleted when its claim could not be given to it (-want +got):\n%s", diff)
	}
}

func TestAClaimIsResized(t *testing.T) {
	storage := func(size string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	}
	c := claimNamed("data-web-0")
	c.Annotations = map[string]string{"of": "others"}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = storage("1Gi")
	s := serve(t, c)
	seen := step.On(s.claim(t, "data-web-0"))
	resize := step.ResizeClaim{
		Target: seen, Pod: "web-0", Resources: corev1.VolumeResourceRequirements{Requests: storage("2Gi")},
		Annotations: map[string]string{"set": "web"},
	}
	if err := apply.Errors(s.take(t, resize)); err != nil {
		t.Fatal(err)
	}
	got := s.claim(t, "data-web-0")
	if got.Spec.Resources.Requests.Storage().String() != "2Gi" || len(got.Spec.AccessModes) != 1 {
		t.Errorf("spec %+v", got.Spec)
	}
	if diff := cmp.Diff(map[string]string{"of": "others", "set": "web"}, got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if !apply.Conflicts(s.take(t, resize)) {
		t.Error("an old view resized the claim")
	}
}

func TestAPodIsAdoptedBesideItsOtherOwners(t *testing.T) {
	p := builders.Pod("web-0").Build()
	other := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Backup", Name: "b", UID: "b"}
	p.OwnerReferences = []metav1.OwnerReference{other}
	s := serve(t, p)
	owner := metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "StatefulSet", Name: "web", UID: "set", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}
	seen := step.On(s.pod(t, "web-0"))
	if err := apply.Errors(s.take(t, step.AdoptPod{Target: seen, Owner: owner})); err != nil {
		t.Fatal(err)
	}
	byUID := cmpopts.SortSlices(func(a, b metav1.OwnerReference) bool { return a.UID < b.UID })
	if diff := cmp.Diff([]metav1.OwnerReference{other, owner}, s.pod(t, "web-0").OwnerReferences, byUID); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	if !apply.Conflicts(s.take(t, step.AdoptPod{Target: seen, Owner: owner})) {
		t.Error("an old view adopted the pod")
	}
	if err := apply.Errors(s.take(t, step.ReleasePod{Target: step.On(s.pod(t, "web-0")), Owner: "set"})); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{other}, s.pod(t, "web-0").OwnerReferences); diff != "" {
		t.Errorf("owners after the release (-want +got):\n%s", diff)
	}
}

func TestARevisionIsAdoptedBesideItsOtherOwners(t *testing.T) {
	other := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Backup", Name: "b", UID: "b"}
	s := serve(t, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1", UID: "web-1", OwnerReferences: []metav1.OwnerReference{other}},
	})
	revision := func() *appsv1.ControllerRevision {
		t.Helper()
		found := &appsv1.ControllerRevision{}
		if err := s.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web-1"}, found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	owner := metav1.OwnerReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web", UID: "set", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}
	adopt := step.AdoptRevision{Target: step.On(revision()), Owners: []metav1.OwnerReference{other, owner}}
	if err := apply.Errors(s.take(t, adopt)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(adopt.Owners, revision().OwnerReferences); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	if !apply.Conflicts(s.take(t, adopt)) { // else an owner that has come since would be lost
		t.Error("an old view adopted the revision")
	}
}
