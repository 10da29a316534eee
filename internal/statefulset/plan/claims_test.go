// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

func retain(whenScaled, whenDeleted string) func(*builders.StatefulSetBuilder) {
	return func(b *builders.StatefulSetBuilder) {
		b.With(func(s *kruisev1beta1.StatefulSet) {
			s.Spec.PersistentVolumeClaimRetentionPolicy = &kruisev1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenScaled:  kruisev1beta1.PersistentVolumeClaimRetentionPolicyType(whenScaled),
				WhenDeleted: kruisev1beta1.PersistentVolumeClaimRetentionPolicyType(whenDeleted),
			}
		})
	}
}

func growing(b *builders.StatefulSetBuilder) {
	b.With(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.VolumeClaimUpdateStrategy.Type = kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
	})
}

func claimed(replicas int32, settings ...func(*builders.StatefulSetBuilder)) *builders.StatefulSetBuilder {
	b := web(replicas).Claim("data", "1Gi")
	all(settings...)(b)
	return b
}

func leaving(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }

// capacity is what the volume has, when that is not what the claim asks for.
func capacity(size string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = storage(size) }
}

func awaitsNode(c *corev1.PersistentVolumeClaim) {
	c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
}

func ownedBy(uids ...string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		for _, uid := range uids {
			o := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: c.Name[len("data-"):], UID: types.UID(uid)}
			switch uid {
			case "web-uid":
				o = metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "StatefulSet", Name: "web", UID: "web-uid"}
			case "backup":
				o = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Backup", Name: "b", UID: "backup"}
			case "operator":
				o = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Database", Name: "db", UID: "operator", Controller: ptr.To(true)}
			}
			c.OwnerReferences = append(c.OwnerReferences, o)
		}
	}
}

func pending(b *builders.PodBuilder) { b.Unscheduled("no volume") }

func TestClaims(t *testing.T) {
	for sentence, c := range map[string]struct {
		scene *scene
		want  []string
		held  string
	}{
		"the claims of a new pod are created before it": {
			sceneOf(claimed(1)), []string{"CreateClaim data-web-0", "create 0@u"}, "",
		},
		"a claim that exists is used whoever made it": {
			sceneOf(claimed(1)).claim("data", 0, "5Gi", ownedBy("operator")), []string{"create 0@u"}, "",
		},
		"a claim that is being deleted holds its pod back": {
			sceneOf(claimed(1)).claim("data", 0, "1Gi", leaving), nil, "pod web-0 cannot be created yet: claim data-web-0 is being deleted",
		},
		"but no other": {
			func() *scene {
				b := claimed(3)
				b.Parallel()
				return sceneOf(b).claim("data", 1, "1Gi", leaving)
			}(), []string{"CreateClaim data-web-0", "create 0@u", "CreateClaim data-web-2", "create 2@u"}, "pod web-1 cannot be created yet: claim data-web-1 is being deleted",
		},
		"a claim that goes with the pod before is waited for": {
			sceneOf(claimed(1, retain("Delete", "Retain"))).claim("data", 0, "1Gi", ownedBy("former")), nil,
			"pod web-0 cannot be created yet: claim data-web-0 is about to be deleted with the pod before",
		},
		"unless claims are to be kept meanwhile": {
			sceneOf(claimed(1)).claim("data", 0, "1Gi", ownedBy("former")), []string{"GiveClaim data-web-0", "create 0@u"}, "",
		},
		"a pending pod gets a claim back that is gone": {
			sceneOf(claimed(2)).pod(0, update, pending).claim("data", 1, "1Gi"), []string{"CreateClaim data-web-0"},
			"pod web-0 is not available: not scheduled: no volume",
		},
		"a running pod does not": {
			sceneOf(claimed(1)).pods("0uA"), nil, "",
		},
		"a claim template that was added leaves running pods as they are": {
			sceneOf(claimed(2)).pod(0, update, with(func(p *corev1.Pod) { p.Spec.Volumes = nil })), []string{"CreateClaim data-web-1", "create 1@u"}, "",
		},
		"a claim template that was removed too": {
			sceneOf(web(2)).pod(0, update, with(func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-0"}}}}
			})), []string{"create 1@u"}, "",
		},
		"a pod is not created that the server would refuse": {
			func() *scene {
				s := sceneOf(web(1))
				s.set.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
				r := recorded(s.set, 3)
				s.world.Revisions[update], s.world.Live = r, r
				return s
			}(), nil, "*",
		},
		"claims of condemned pods are given to them before they go": {
			sceneOf(claimed(1, retain("Delete", "Delete"))).pods("0uA 1uA 2uA").
				claim("data", 0, "1Gi", ownedBy("web-uid")).claim("data", 1, "1Gi", ownedBy("web-uid")).claim("data", 2, "1Gi", ownedBy("web-uid")),
			[]string{"GiveClaim data-web-2", "delete 2 (scale-in)", "GiveClaim data-web-1"}, "",
		},
		"with OnDelete a claim that is too small stays so": {
			sceneOf(claimed(1)).pods("0uA").claim("data", 0, "500Mi"), nil, "",
		},
		"a claim that is too small grows, without its pod": {
			sceneOf(claimed(2, growing)).pods("0uA 1uA").claim("data", 0, "500Mi").claim("data", 1, "500Mi"), []string{"ResizeClaim data-web-1"},
			"the update waits: 1 of 2 positions are unavailable, and maxUnavailable allows 1",
		},
		"the next one when the volume has its size": {
			sceneOf(claimed(2, growing)).pods("0uA 1uA").claim("data", 0, "500Mi").claim("data", 1, "1Gi", capacity("500Mi")), nil,
			"the update waits: 1 of 2 positions are unavailable, and maxUnavailable allows 1",
		},
		"a larger claim is not shrunk": {
			sceneOf(claimed(1, growing)).pods("0uA").claim("data", 0, "5Gi"), nil, "",
		},
		"claims below the partition keep their size": {
			sceneOf(claimed(2, growing, partition(2))).pods("0uA 1uA").claim("data", 0, "500Mi").claim("data", 1, "500Mi"), nil, "",
		},
		"and all do while paused": {
			sceneOf(claimed(1, growing, paused)).pods("0uA").claim("data", 0, "500Mi"), nil, "paused with 1 pods to update",
		},
		"a claim grows before its pod is updated": {
			sceneOf(claimed(1, growing)).pods("0cA").claim("data", 0, "500Mi"), []string{"ResizeClaim data-web-0"}, "",
		},
		"which waits for it": {
			sceneOf(claimed(1, growing)).pods("0cA").claim("data", 0, "1Gi", capacity("500Mi")), nil, "pod web-0 waits: claim data-web-0 is being resized",
		},
		"until only the node is left to act": {
			sceneOf(claimed(1, growing)).pods("0cA").claim("data", 0, "1Gi", capacity("500Mi"), awaitsNode), []string{"update 0"}, "",
		},
		"a claim without a volume yet is not waited for": {
			sceneOf(claimed(1, growing)).pods("0cu").claim("data", 0, "1Gi", func(c *corev1.PersistentVolumeClaim) {
				c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
			}),
			[]string{"update 0"}, "",
		},
		"the claim of a broken pod grows first too": {
			sceneOf(claimed(2, growing)).pods("0cA 1xu").claim("data", 1, "500Mi"), []string{"ResizeClaim data-web-1"}, "",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := plan.Next(c.scene.world, now)
			if diff := cmp.Diff(c.want, c.scene.told(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if c.held == "*" {
				if got.Uncreatable == "" || got.Held != got.Uncreatable {
					t.Errorf("held %q, uncreatable %q", got.Held, got.Uncreatable)
				}
			} else if got.Held != c.held {
				t.Errorf("held %q, want %q", got.Held, c.held)
			}
		})
	}
}

func TestWithWhomClaimsGo(t *testing.T) {
	const set, podUID = "web-uid", "web-0-uid"
	for _, c := range []struct{ scaled, deleted, live, condemned string }{
		{"Retain", "Retain", "", ""},
		{"Retain", "Delete", set, set},
		{"Delete", "Retain", "", podUID},
		{"Delete", "Delete", set, podUID},
	} {
		for _, condemned := range []bool{false, true} {
			for _, before := range [][]string{nil, {set}, {podUID}, {set, podUID}, {"backup", set}} {
				t.Run(fmt.Sprintf("scaled %s, deleted %s, condemned %v, owners %v", c.scaled, c.deleted, condemned, before), func(t *testing.T) {
					replicas, want := int32(1), c.live
					if condemned {
						replicas, want = 0, c.condemned
					}
					s := sceneOf(claimed(replicas, retain(c.scaled, c.deleted))).pods("0uA").claim("data", 0, "1Gi", ownedBy(before...))
					var after []string
					for _, o := range s.world.Claims["data-web-0"].OwnerReferences {
						after = append(after, string(o.UID))
					}
					for _, each := range plan.Next(s.world, now).Steps {
						if given, is := each.(step.GiveClaim); is {
							after = nil
							for _, o := range given.Owners {
								after = append(after, string(o.UID))
								if o.Controller != nil || o.APIVersion == "" || o.Kind == "" || o.Name == "" {
									t.Errorf("owner %+v", o)
								}
							}
						}
					}
					var wanted []string
					if len(before) > 0 && before[0] == "backup" {
						wanted = append(wanted, "backup")
					}
					if want != "" {
						wanted = append(wanted, want)
					}
					if diff := cmp.Diff(wanted, after, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("owners (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

func TestAClaimThatOthersControlIsGivenNoOwner(t *testing.T) {
	s := sceneOf(claimed(1, retain("Delete", "Delete"))).pods("0uA 1uA").
		claim("data", 0, "1Gi", ownedBy("operator")).claim("data", 1, "1Gi", ownedBy("operator"))
	if diff := cmp.Diff([]string{"delete 1 (scale-in)"}, s.told(plan.Next(s.world, now))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestANewClaimGoesWithTheSetWhereThatIsAsked(t *testing.T) {
	s := sceneOf(claimed(1, retain("Retain", "Delete")))
	created := plan.Next(s.world, now).Steps[0].(step.CreateClaim).Claim
	if len(created.OwnerReferences) != 1 || created.OwnerReferences[0].UID != s.set.UID || created.OwnerReferences[0].Controller != nil {
		t.Errorf("owners %v", created.OwnerReferences)
	}
}

// A difference that is not of size, and a class that lets nothing grow, hold back only the pods they concern.
func TestAClaimThatCannotFollowHoldsOnlyItsPod(t *testing.T) {
	class := func(name string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &name }
	}
	rwx := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	}
	b := claimed(5, growing, unavailable("5"))
	b.Parallel()
	s := sceneOf(b).pods("0cA 1cA 2cA 3cA 4cA").
		claim("data", 0, "500Mi", class("fast")).claim("data", 1, "500Mi", class("rigid")).claim("data", 2, "1Gi", rwx).
		claim("data", 3, "500Mi").claim("data", 4, "1Gi", class("rigid"))
	s.world.Rigid = map[string]bool{"rigid": true, "": true}
	got := plan.Next(s.world, now)
	if diff := cmp.Diff([]string{"update 4", "ResizeClaim data-web-0"}, s.told(got)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	want := []string{
		"claim data-web-3 of pod web-3 is smaller than its template, and its storage class lets no volume grow",
		"claim data-web-2 of pod web-2: spec.accessModes is not that of its template, and only a size can change",
		"claim data-web-1 of pod web-1 is smaller than its template, and its storage class lets no volume grow",
	}
	if diff := cmp.Diff(want, got.RefusedClaims); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	delete(s.world.Rigid, "")
	s.world.Claims["data-web-3"].Spec.StorageClassName = ptr.To("")
	if got := plan.Next(s.world, now); len(got.RefusedClaims) != 2 {
		t.Errorf("no class at all forbids nothing: %q", got.RefusedClaims)
	}
}

func TestClaimsAreCounted(t *testing.T) {
	s := sceneOf(claimed(5).Claim("log", "1Gi")).pods("0uA 1uA 2uA 3uA 9uA").
		claim("data", 0, "1Gi").claim("data", 1, "2Gi", capacity("1Gi")).claim("data", 2, "500Mi").claim("data", 3, "1Gi", leaving).
		claim("data", 4, "1Gi").claim("data", 9, "1Gi")
	want := []plan.ClaimCount{{Template: "data", Compatible: 2, Ready: 1}, {Template: "log"}}
	if diff := cmp.Diff(want, plan.Next(s.world, now).Claims); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// A resize restarts nothing, reaches all claims, and then nothing is left to be done.
func TestASizeOnlyReleaseTouchesNoPod(t *testing.T) {
	s := stageOf(claimed(3, growing).Build())
	if !s.settle() {
		t.Fatal("not settled")
	}
	before := map[string]types.UID{}
	for _, p := range s.world.Pods {
		before[p.Name] = p.UID
	}
	s.world.Set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = storage("2Gi")
	for range 20 {
		s.pass()
		for name, c := range s.world.Claims {
			grown := c.DeepCopy()
			grown.Status.Capacity = grown.Spec.Resources.Requests
			s.world.Claims[name] = grown
		}
	}
	next := plan.Next(s.world, s.now)
	for _, p := range s.world.Pods {
		if before[p.Name] != p.UID {
			t.Errorf("pod %s was replaced", p.Name)
		}
	}
	if want := []plan.ClaimCount{{Template: "data", Compatible: 3, Ready: 3}}; !cmp.Equal(want, next.Claims) || len(next.Steps) > 0 || next.Held != "" {
		t.Errorf("%+v at the end, %d steps, held %q", next.Claims, len(next.Steps), next.Held)
	}
}

func TestAResizedClaimNamesItsSet(t *testing.T) {
	resized := plan.Next(sceneOf(claimed(1, growing)).pods("0uA").claim("data", 0, "500Mi").world, now).Steps[0].(step.ResizeClaim)
	if resized.Annotations[kruisev1beta1.AnnotationOwnedByStatefulSet] != "web" {
		t.Errorf("annotations %v", resized.Annotations)
	}
	if diff := cmp.Diff(storage("1Gi"), resized.Resources.Requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
