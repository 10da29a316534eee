// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

func web(replicas int32) *builders.StatefulSetBuilder {
	return builders.StatefulSet("web").Replicas(replicas)
}

func inPlaceOnly(b *builders.StatefulSetBuilder) *builders.StatefulSetBuilder {
	return b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) {
		r.PodUpdatePolicy = kruisev1beta1.InPlaceOnlyPodUpdateStrategyType
	})
}

// loose is a set whose pods are updated whatever their ordinals.
func loose(replicas, partition int32, unavailable int) *builders.StatefulSetBuilder {
	b := web(replicas).Parallel().Partition(partition).MaxUnavailable(strconv.Itoa(unavailable))
	unordered(b)
	return b
}

// resizing: its node is to give the pod another size, and has not yet.
func resizing(b *builders.PodBuilder) {
	b.Annotation(kruisev1alpha1.AnnotationInPlaceState,
		`{"revision":"r","updateTimestamp":"2026-01-01T00:00:00Z","lastContainerStatuses":null,"updateResources":true,"resizedContainers":["app"]}`)
	b.With(func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred})
	})
}

func ungated(p *corev1.Pod) { p.Spec.ReadinessGates = nil }
func other(p *corev1.Pod)   { p.Labels["app"] = "other" }

// stray moves the last pod to those that nobody controls.
func (s *scene) stray() *scene {
	last := len(s.world.Pods) - 1
	s.world.Pods[last].OwnerReferences = nil
	s.world.Strays, s.world.Pods = append(s.world.Strays, s.world.Pods[last]), s.world.Pods[:last]
	return s
}

// foreign moves the last pod to those of others.
func (s *scene) foreign() *scene {
	last := len(s.world.Pods) - 1
	p := s.world.Pods[last]
	p.OwnerReferences[0].UID = "other"
	s.world.Others, s.world.Pods = map[string]*corev1.Pod{p.Name: p}, s.world.Pods[:last]
	return s
}

func (s *scene) with(change func(*kruisev1beta1.StatefulSet)) *scene {
	change(s.set)
	return s
}

func TestNextDecides(t *testing.T) {
	for sentence, c := range map[string]struct {
		scene *scene
		want  []string
		held  string
	}{
		"a settled set needs nothing": {sceneOf(web(2)).pods("0uA 1uA"), nil, ""},
		"a pod of nobody is adopted, and its position waits": {
			sceneOf(web(2)).pods("0uA 1uA").stray(), []string{"AdoptPod 1"}, "pod web-1 cannot be created: it is being adopted",
		},
		"a pod of nobody that is being deleted is not": {
			sceneOf(web(2)).pods("0uA 1uT").stray(), nil, "pod web-1 cannot be created: its name is taken by a pod that is not the set's",
		},
		"a pod of another controller is only waited for": {
			sceneOf(web(2)).pods("0uA 1uA").foreign(), nil, "pod web-1 cannot be created: its name is taken by a pod that is not the set's",
		},
		"where pods are parallel it holds no other up": {
			sceneOf(web(3).Parallel()).pods("1uA").foreign(), []string{"create 0@u", "create 2@u"}, "pod web-1 cannot be created: its name is taken by a pod that is not the set's",
		},
		"a name that was found taken is not asked for again": {
			func() *scene {
				s := sceneOf(web(1))
				s.world.Taken = map[string]bool{"web-0": true}
				return s
			}(), nil, "pod web-0 cannot be created: its name is taken by a pod that is not the set's",
		},
		"a pod whose labels no longer match is given up, and its position waits": {
			sceneOf(web(2)).pods("0uA").pod(1, update, with(other)), []string{"ReleasePod 1"}, "pod web-1 cannot be created: its name is taken by a pod that is given up",
		},
		"a pod whose name no member has is given up": {
			sceneOf(web(1)).pods("0uA").pod(1, update, with(func(p *corev1.Pod) { p.Name = "web-01" })), []string{"ReleasePod 01"}, "",
		},
		"labels of identity are repaired": {
			sceneOf(web(2)).pods("0uA").pod(1, update, with(func(p *corev1.Pod) { delete(p.Labels, kruisev1beta1.LabelPodName) })), []string{"PatchPod 1"}, "",
		},
		"ordered ones above a pod that is not available come later": {
			sceneOf(web(2)).pods("0uu").pod(1, update, with(func(p *corev1.Pod) { delete(p.Labels, kruisev1beta1.LabelPodIndex) })), nil,
			"pod web-0 is not available: container app is not ready",
		},
		"a chosen pod is deleted while paused": {
			sceneOf(web(2).Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) { r.Paused = true })).pods("0uA* 1uA"), []string{"delete 0 (specified)"}, "",
		},
		"and for OnDelete": {
			func() *scene {
				b := web(2)
				onDelete(b)
				return sceneOf(b).pods("0uA* 1uA*")
			}(), []string{"delete 1 (specified)"}, "pod web-0 is chosen for deletion and waits: 1 of 2 positions are unavailable, and maxUnavailable allows 1",
		},
		"a chosen pod that is broken is deleted though ordered pods wait for it": {
			sceneOf(web(3)).pods("0uA 1uu* 2uA"), []string{"delete 1 (specified)"}, "pod web-1 is not available: container app is not ready",
		},
		"but not while another is being deleted": {
			sceneOf(web(3)).pods("0uA 1uu* 2uT"), nil, "pod web-1 is not available: container app is not ready",
		},
		"a broken pod of the newest revision is left alone": {
			sceneOf(web(3).Parallel()).pods("0uA 1uu 2uu"), nil, "",
		},
		"going back to the current revision replaces what is broken on the newer one": {
			sceneOf(web(3)).live(current).pods("0cA 1cA 2uu"), []string{"RenumberRevision", "update 2"}, "",
		},
		"a finished pod of an older revision is replaced, though ordered pods wait for one below": {
			sceneOf(web(3)).pods("0uu 1cA 2cF"), []string{"delete 2 (failed)"}, "",
		},
		"but not while another is being deleted, as every broken one": {
			sceneOf(web(3)).pods("0uu 1cT 2cF"), nil, "pod web-2 is broken on an older revision and is replaced when pod web-1 is gone",
		},
		"one on the newest revision waits for those below": {
			sceneOf(web(3)).pods("0uu 1uA 2uF"), nil, "pod web-0 is not available: container app is not ready",
		},
		"and so does one that the partition keeps": {
			sceneOf(web(3).Partition(3)).pods("0cu 1cA 2cF"), nil, "pod web-0 is not available: container app is not ready",
		},
		"ordered pods are not created while one below is being deleted": {
			sceneOf(web(3)).pods("0uA 1uT"), nil, "pod web-1 is being deleted, and those above it wait",
		},
		"ordered pods are not scaled in while one is on its way out": {
			sceneOf(web(1)).pods("0uA 1uA 2uT"), nil, "scaling in waits until pod web-2 is gone",
		},
		"finished pods that are not wanted any more hold each other up no longer": {
			sceneOf(web(1)).pods("0uA 1uF 2uF"), []string{"delete 2 (scale-in)"}, "",
		},
		"and a broken one does not wait for one below it that has finished, since that gets well no more": {
			sceneOf(web(1)).pods("0uA 1uF 2uu"), []string{"delete 2 (scale-in)"}, "",
		},
		"also where none is wanted": {
			sceneOf(web(0)).pods("0cF 1xu"), []string{"delete 1 (scale-in)"}, "",
		},
		"a broken pod that is not wanted waits for nobody's help while the one below it is on its way out": {
			sceneOf(web(1)).pods("0uA 1uT 2uu"), nil, "scaling in waits until pod web-1 is gone",
		},
		"it does not wait for one that serves while its size changes": {
			sceneOf(web(1)).pods("0uA").pod(1, update, resizing).pods("2uu"), []string{"delete 2 (scale-in)"}, "",
		},
		"one bad annotation does not stop the others": {
			sceneOf(inPlaceOnly(web(3).Parallel().MaxUnavailable("2"))).pods("0cA 1cA").
				pod(2, current, func(b *builders.PodBuilder) { b.Annotation(kruisev1alpha1.AnnotationInPlaceState, "{") }),
			[]string{"update 1", "update 0"}, "",
		},
		"a pod without the gate is recreated, since it could not be drained": {
			sceneOf(web(1).InPlace()).pod(0, current, with(ungated)), []string{"update 0"}, "",
		},
		"unordered updates follow the user's priority": {
			func() *scene {
				b := web(3).Parallel()
				b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) {
					r.UnorderedUpdate = &kruisev1beta1.UnorderedUpdateStrategy{PriorityStrategy: &kruisev1alpha1.UpdatePriorityStrategy{
						OrderPriority: []kruisev1alpha1.UpdatePriorityOrderTerm{{OrderedKey: "order"}},
					}}
				})
				return sceneOf(b).pod(0, current, label("order", "3")).pod(1, current, label("order", "2")).pod(2, current, label("order", "1"))
			}(), []string{"update 0"}, "the update waits: 1 of 3 positions are unavailable, and maxUnavailable allows 1",
		},
		"unordered pods are not updated in the place of one that cannot be created yet": {
			sceneOf(loose(5, 3, 3)).pods("0cA 1cA 2cA 4cA 3cA").foreign(), []string{"update 4"}, "pod web-3 cannot be created: its name is taken by a pod that is not the set's",
		},
		"nor of those whose creation is throttled": {
			sceneOf(loose(5, 3, 3).ScaleMaxUnavailable("1")).pods("0cA 1cA 2cA"), []string{"create 3@u", "1 creations throttled"},
			"1 pods more are missing than scaleStrategy.maxUnavailable lets be created now",
		},
		"nor when fewer are there than the partition keeps": {
			sceneOf(loose(3, 2, 3).ScaleMaxUnavailable("1")).pods("0cA 1cu"), []string{"1 creations throttled"},
			"1 pods more are missing than scaleStrategy.maxUnavailable lets be created now",
		},
		"a new template is recorded before anything else": {
			func() *scene {
				s := sceneOf(web(1)).pods("0uA")
				s.set.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v9"
				s.world.Live = revision.FromTemplate(&s.set.Spec.Template)
				return s
			}(), []string{"CreateRevision"}, "",
		},
		"of a set that is being deleted, pods only end their own affairs": {
			sceneOf(web(3)).pods("0uA").pod(1, update, with(func(p *corev1.Pod) { p.Status.Conditions = nil })).
				with(func(s *kruisev1beta1.StatefulSet) { s.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }),
			[]string{"SetConditions 1"}, "",
		},
		"minReadySeconds holds ordered pods up": {
			sceneOf(web(2).Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) { r.MinReadySeconds = ptr.To[int32](5000) })).pods("0uA"),
			nil, "pod web-0 is not available: it has not been ready for minReadySeconds",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := plan.Next(c.scene.world, now)
			if diff := cmp.Diff(c.want, c.scene.told(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if got.Blocked != "" {
				t.Errorf("it waits for somebody: %s", got.Blocked)
			}
			if got.Held != c.held {
				t.Errorf("held %q, want %q", got.Held, c.held)
			}
		})
	}
}

func TestAPodHasItsIdentityFromTheBeginning(t *testing.T) {
	s := sceneOf(web(4).InPlace().Partition(2).Claim("data", "1Gi").Claim("log", "2Gi").With(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.ServiceName = "peers"
		s.Spec.Selector.MatchLabels["tier"], s.Spec.Template.Labels["tier"] = "db", "db"
		s.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data"}, {Name: "tmp"}}
	}))
	s.set.Spec.Ordinals = &kruisev1beta1.StatefulSetOrdinals{Start: 2}
	next := plan.Next(s.world, now)
	if diff := cmp.Diff([]string{"CreateClaim data-web-2", "CreateClaim log-web-2", "create 2@c"}, s.told(next)); diff != "" {
		t.Fatalf("steps (-want +got):\n%s", diff)
	}
	created := next.Steps[2].(step.CreatePod).Pod
	if diff := cmp.Diff(map[string]string{
		"app": "web", "tier": "db", "controller-revision-hash": s.world.Revisions[current].Name, "statefulset.kubernetes.io/pod-name": "web-2",
		"apps.kubernetes.io/pod-index": "2", "lifecycle.apps.kruise.io/state": "Normal",
	}, created.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	var volumes []string
	for _, v := range created.Spec.Volumes {
		name := v.Name
		if v.PersistentVolumeClaim != nil {
			name += "=" + v.PersistentVolumeClaim.ClaimName
		}
		volumes = append(volumes, name)
	}
	if diff := cmp.Diff([]string{"data=data-web-2", "log=log-web-2", "tmp"}, volumes); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	if created.Spec.Hostname != "web-2" || created.Spec.Subdomain != "peers" || !metav1.IsControlledBy(created, s.set) || len(created.Spec.ReadinessGates) != 1 {
		t.Errorf("hostname %q, subdomain %q, owners %v, gates %v", created.Spec.Hostname, created.Spec.Subdomain, created.OwnerReferences, created.Spec.ReadinessGates)
	}
	claim := next.Steps[0].(step.CreateClaim).Claim
	if diff := cmp.Diff(map[string]string{"app": "web", "tier": "db"}, claim.Labels); diff != "" || len(claim.OwnerReferences) > 0 {
		t.Errorf("the claim has owners %v and labels (-want +got):\n%s", claim.OwnerReferences, diff)
	}
}

func TestWhatCannotBeActedOnIsSaidAndNothingIsDone(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*kruisev1beta1.StatefulSet)
		says   string
	}{
		"an entry of reserveOrdinals": {func(s *kruisev1beta1.StatefulSet) {
			s.Spec.ReserveOrdinals = []intstr.IntOrString{intstr.FromString("1..3")}
		}, `spec.reserveOrdinals: "1..3"`},
		"an empty selector":                            {func(s *kruisev1beta1.StatefulSet) { s.Spec.Selector = &metav1.LabelSelector{} }, "spec.selector: must not be empty"},
		"a selector that its own pods would not match": {func(s *kruisev1beta1.StatefulSet) { s.Spec.Selector.MatchLabels["app"] = "other" }, "does not match the labels of spec.template"},
		"a selector that is nonsense": {func(s *kruisev1beta1.StatefulSet) {
			s.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Or"}}}
		}, "spec.selector: "},
		"a start below zero": {func(s *kruisev1beta1.StatefulSet) {
			s.Spec.Ordinals = &kruisev1beta1.StatefulSetOrdinals{Start: -1}
		}, "spec.ordinals.start: "},
		"maxUnavailable that is no number": {func(s *kruisev1beta1.StatefulSet) {
			s.Spec.UpdateStrategy.RollingUpdate = &kruisev1beta1.RollingUpdateStatefulSetStrategy{MaxUnavailable: ptr.To(intstr.FromString("some"))}
		}, "spec.updateStrategy.rollingUpdate.maxUnavailable"},
		"maxUnavailable of creations that is no number": {func(s *kruisev1beta1.StatefulSet) {
			s.Spec.ScaleStrategy = &kruisev1beta1.StatefulSetScaleStrategy{MaxUnavailable: ptr.To(intstr.FromString("5"))}
		}, "spec.scaleStrategy.maxUnavailable"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := sceneOf(web(5).Parallel()).pods("0cA 1cu 2uF").with(c.change)
			got := plan.Next(s.world, now)
			if got.Invalid == nil || !strings.Contains(got.Invalid.Error(), c.says) || len(got.Steps) > 0 {
				t.Errorf("invalid %v with %v, want %q and no steps", got.Invalid, s.told(got), c.says)
			}
			if len(got.Members) != 3 {
				t.Errorf("%d members are counted, want 3", len(got.Members))
			}
		})
	}
}

func TestAnObjectWithoutDefaultsMeansTheDefaults(t *testing.T) {
	s := sceneOf(builders.StatefulSet("web")).pods("0cA")
	s.set.Spec.UpdateStrategy = kruisev1beta1.StatefulSetUpdateStrategy{}
	s.set.Spec.Replicas, s.set.Spec.RevisionHistoryLimit = nil, nil
	if diff := cmp.Diff([]string{"update 0"}, s.told(plan.Next(s.world, now))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestARangeOfBillionsIsNothing(t *testing.T) {
	s := sceneOf(web(1)).with(func(s *kruisev1beta1.StatefulSet) {
		s.Spec.ReserveOrdinals = []intstr.IntOrString{intstr.FromString("0-2000000000")}
	})
	if diff := cmp.Diff([]string{"create 2000000001@u"}, s.told(plan.Next(s.world, now))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestWaitsEndByTime(t *testing.T) {
	s := sceneOf(web(3).Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) { r.MinReadySeconds = ptr.To[int32](60) })).
		pod(0, update, func(b *builders.PodBuilder) { b.ReadySince(now.Add(-20 * time.Second)) }).
		pod(1, update, func(b *builders.PodBuilder) { b.ReadySince(now.Add(-50 * time.Second)) })
	if got := plan.Next(s.world, now).LookAgain; got != 10*time.Second {
		t.Errorf("looks again after %s, want 10s: a pod is available then", got)
	}
}

func TestPodsSayWhyTheyCannotBeUpdated(t *testing.T) {
	changed := func(policy func(*builders.StatefulSetBuilder) *builders.StatefulSetBuilder) *scene {
		s := sceneOf(policy(web(2).Parallel().MaxUnavailable("2")))
		s.set.Spec.Template.Spec.Containers[0].Command = []string{"serve"}
		s.world.Revisions[update] = recorded(s.set, 3)
		s.world.Live = revision.FromTemplate(&s.set.Spec.Template)
		return s.pods("0cA 1cA")
	}
	const field = "spec.containers[app].command"
	only := changed(inPlaceOnly)
	got := plan.Next(only.world, now)
	if len(got.Steps) != 0 || len(got.Refused) != 2 || !strings.Contains(got.Refused[0], "pod web-1: "+field) || !strings.Contains(got.Refused[1], "pod web-0: "+field) {
		t.Errorf("InPlaceOnly leaves the pods and names the field; got %v, refused %q", only.told(got), got.Refused)
	}
	possible := changed((*builders.StatefulSetBuilder).InPlace)
	got = plan.Next(possible.world, now)
	if diff := cmp.Diff([]string{"update 1", "update 0"}, possible.told(got)); diff != "" || !strings.Contains(got.Steps[0].Why(), field) || len(got.Refused) > 0 {
		t.Errorf("InPlaceIfPossible recreates and names the field; got %v, refused %q", possible.told(got), got.Refused)
	}
	ungated := sceneOf(inPlaceOnly(web(1))).pod(0, current, with(ungated))
	if got = plan.Next(ungated.world, now); len(got.Warned) != 1 || !strings.HasPrefix(got.Warned[0], "pod web-0: ") {
		t.Errorf("a pod without the gate is updated with a warning; got %v, warned %q", ungated.told(got), got.Warned)
	}
}

func TestOrphanRevisionsAreAdoptedAndUsed(t *testing.T) {
	s := sceneOf(web(1))
	s.world.Orphans, s.world.Revisions = s.world.Revisions, nil
	got := plan.Next(s.world, now)
	adopted, created := 0, 0
	for _, each := range got.Steps {
		switch each.(type) {
		case step.AdoptRevision:
			adopted++
		case step.CreatePod:
			created++
		}
	}
	if adopted != 3 || created != 1 || len(got.Steps) != 4 || got.UpdateRevision != s.world.Orphans[update].Name || got.CurrentRevision != s.world.Orphans[current].Name {
		t.Errorf("%d of 3 adopted, %d of 1 created, from %s to %s", adopted, created, got.CurrentRevision, got.UpdateRevision)
	}
}

func TestHistoryKeepsWhatPodsCarryAndAsManyMoreAsAskedFor(t *testing.T) {
	s := sceneOf(web(1).With(func(s *kruisev1beta1.StatefulSet) { s.Spec.RevisionHistoryLimit = ptr.To[int32](0) })).pods("0uA")
	s.set.Status.CurrentRevision = s.world.Revisions[update].Name
	condemned := sceneOf(web(1).With(func(s *kruisev1beta1.StatefulSet) { s.Spec.RevisionHistoryLimit = ptr.To[int32](0) })).pods("0uA 7xT")
	for sentence, c := range map[string]struct {
		scene *scene
		want  []string
	}{
		"no pod carries them":                       {s, []string{s.world.Revisions[older].Name, s.world.Revisions[current].Name}},
		"a pod that is leaving carries one of them": {condemned, nil},
	} {
		var forgotten []string
		for _, each := range plan.Next(c.scene.world, now).Steps {
			if f, is := each.(step.ForgetRevision); is {
				forgotten = append(forgotten, f.Name)
			}
		}
		if diff := cmp.Diff(c.want, forgotten); diff != "" {
			t.Errorf("%s: forgotten (-want +got):\n%s", sentence, diff)
		}
	}
}
