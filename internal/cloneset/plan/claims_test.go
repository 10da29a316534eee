// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

// claim adds a claim of the set, changed as asked.
func (s *scene) claim(template, id string, changes ...func(*corev1.PersistentVolumeClaim)) *scene {
	name := template + "-" + s.set.Name + "-" + id
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.set.Namespace, Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "1",
		Labels: map[string]string{kruisev1alpha1.LabelInstanceID: id}, CreationTimestamp: metav1.NewTime(builders.Epoch()),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.set, kruisev1alpha1.GroupVersion.WithKind("CloneSet"))},
	}}
	for _, change := range changes {
		change(c)
	}
	s.world.Claims = append(s.world.Claims, c)
	return s
}

// owns gives a pod the volumes that it has of these claim templates.
func owns(templates ...string) func(*builders.PodBuilder) {
	return with(func(p *corev1.Pod) {
		for _, t := range templates {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: t, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: t + "-" + p.Name},
			}})
		}
	})
}

// waiting is a pod without a node.
func waiting(b *builders.PodBuilder) {
	b.Unscheduled("claim not found").Condition(kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.ConditionTrue, "", builders.Epoch())
}

func doomed(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }

func aged(d time.Duration) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.CreationTimestamp = metav1.NewTime(builders.Epoch().Add(-d))
	}
}

func terminatingSince(d time.Duration) func(*builders.PodBuilder) {
	return func(b *builders.PodBuilder) { b.Terminating(now.Add(-d)) }
}

func (s *scene) with(change func(*scene)) *scene {
	change(s)
	return s
}

func noReuse(s *kruisev1alpha1.CloneSet) { s.Spec.ScaleStrategy.DisablePVCReuse = true }

// toldByName is a plan with the names of what is created; those that come from the sequence are "fresh".
func toldByName(s *scene, p plan.Plan) []string {
	known := func(name string) string {
		id := name[strings.LastIndex(name, "-")+1:]
		for _, c := range s.world.Claims {
			if c.Labels[kruisev1alpha1.LabelInstanceID] == id {
				return name
			}
		}
		return strings.TrimSuffix(name, id) + "fresh"
	}
	var lines []string
	for _, each := range p.Steps {
		line := strings.TrimPrefix(fmt.Sprintf("%T", each), "step.") + " " + each.Subject()
		switch each := each.(type) {
		case step.CreatePod:
			line = "CreatePod " + known(each.Subject())
		case step.CreateClaim:
			line = "CreateClaim " + known(each.Subject()) + " for " + known(each.Pod)
		case step.DeletePod:
			line += " " + []string{"ScaleIn", "Recreate", "Chosen", "CleanUp"}[each.Cause]
		case step.GiveClaim:
			line += " to " + each.Owners[len(each.Owners)-1].Kind
		case step.TrimPodsToDelete:
			line += fmt.Sprintf(" to %v", each.Keep)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestClaims(t *testing.T) {
	data := func(replicas int32) *builders.CloneSetBuilder { return inPlace(replicas).Claim("data") }
	for sentence, c := range map[string]struct {
		scene *scene
		want  []string
		again time.Duration
	}{
		"claims come before their pod": {
			scene: sceneOf(data(1).Claim("log"), v1),
			want:  []string{"CreateClaim data-web-fresh for web-fresh", "CreateClaim log-web-fresh for web-fresh", "CreatePod web-fresh"},
		},
		"the claim of a pod that is gone brings its id back": {
			scene: sceneOf(data(1), v1).claim("data", "a"), want: []string{"CreatePod web-a"},
		},
		"a claim that is missing beside it is created": {
			scene: sceneOf(data(1).Claim("log"), v1).claim("data", "a"), want: []string{"CreateClaim log-web-a for web-a", "CreatePod web-a"},
		},
		"the oldest claims are used first": {
			scene: sceneOf(data(1), v1).claim("data", "a").claim("data", "b", aged(time.Hour)), want: []string{"CreatePod web-b"},
		},
		"fresh ids come after all that can be used again": {
			scene: sceneOf(data(2), v1).claim("data", "a"), want: []string{"CreatePod web-a", "CreateClaim data-web-fresh for web-fresh", "CreatePod web-fresh"},
		},
		"the claim of an active pod is its own": {
			scene: sceneOf(data(2), v1).pod("a", 0, owns("data")).claim("data", "a"), want: []string{"CreateClaim data-web-fresh for web-fresh", "CreatePod web-fresh"},
		},
		"a terminating pod is waited for, since its name is in the way": {
			scene: sceneOf(data(1), v1).pod("a", 0, owns("data"), terminatingSince(10*time.Second)).claim("data", "a"), again: 21 * time.Second,
		},
		"but only for the pods that nothing else gives an id to": {
			scene: sceneOf(data(3), v1).pod("a", 0, owns("data"), terminatingSince(0)).claim("data", "a").claim("data", "b"),
			want:  []string{"CreatePod web-b", "CreateClaim data-web-fresh for web-fresh", "CreatePod web-fresh"}, again: 31 * time.Second,
		},
		"and not when its node seems to be dead": {
			scene: sceneOf(data(1), v1).pod("a", 0, owns("data"), terminatingSince(31*time.Second)).claim("data", "a"),
			want:  []string{"CreateClaim data-web-fresh for web-fresh", "CreatePod web-fresh"},
		},
		"a finished pod makes room for the next with its claims": {
			scene: sceneOf(data(1), v1).pod("a", 0, owns("data"), failed).claim("data", "a"), want: []string{"DeletePod web-a CleanUp"},
		},
		"a claim on its way out is not counted on": {
			scene: sceneOf(data(1), v1).claim("data", "a", doomed), want: []string{"CreateClaim data-web-fresh for web-fresh", "CreatePod web-fresh"},
		},
		"nor is an id that lacks one of its claims until it is gone": {
			scene: sceneOf(data(1).Claim("log"), v1).claim("data", "a", doomed).claim("log", "a"),
			want:  []string{"CreateClaim data-web-fresh for web-fresh", "CreateClaim log-web-fresh for web-fresh", "CreatePod web-fresh"},
		},
		"a claim that is kept terminating holds nothing up": {
			scene: sceneOf(data(1), v1).pod("a", 0, owns("data"), terminatingSince(0)).claim("data", "a", doomed),
			want:  []string{"CreateClaim data-web-fresh for web-fresh", "CreatePod web-fresh"},
		},
		"scaling in deletes the claims after the pod": {
			scene: sceneOf(data(1), v1).pod("a", 0, owns("data")).pod("b", 0, owns("data"), notReady).claim("data", "a").claim("data", "b"),
			want:  []string{"DeletePod web-b ScaleIn", "DeleteClaim data-web-b"},
		},
		"so does recreation": {
			scene: sceneOf(builders.CloneSet("web").Replicas(1).MaxUnavailable("1").Claim("data"), v1, v2).pod("a", 0, owns("data")).claim("data", "a"),
			want:  []string{"DeletePod web-a Recreate", "DeleteClaim data-web-a"},
		},
		"and the choice of a pod": {
			scene: sceneOf(data(1), v1).pod("a", 0, owns("data"), chosen).claim("data", "a"), want: []string{"DeletePod web-a Chosen", "DeleteClaim data-web-a"},
		},
		"a claim that another pod mounts stays": {
			scene: sceneOf(data(1), v1).pod("a", 0, owns("data")).pod("b", 0, notReady, with(func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-a"}}}}
			}), label(kruisev1alpha1.LabelInstanceID, "a")).claim("data", "a"),
			want: []string{"DeletePod web-b ScaleIn"},
		},
		"claims of a pod that we deleted are deleted when that was left undone": {
			scene: sceneOf(data(1), v1).pod("a", 0, owns("data")).claim("data", "a").claim("data", "b").with(func(s *scene) { s.world.Owed = map[types.UID]bool{"data-web-b-uid": true} }),
			want:  []string{"DeleteClaim data-web-b"},
		},
		"and are not used again": {
			scene: sceneOf(data(1), v1).claim("data", "b").with(func(s *scene) { s.world.Owed = map[types.UID]bool{"data-web-b-uid": true} }),
			want:  []string{"DeleteClaim data-web-b", "CreateClaim data-web-fresh for web-fresh", "CreatePod web-fresh"},
		},
		"claims that are not needed now wait for the next scale out": {
			scene: sceneOf(data(1), v1).pod("a", 0, owns("data")).claim("data", "a").claim("data", "b"),
		},
		"without reuse, a claim without a pod is deleted": {
			scene: sceneOf(data(1).With(noReuse), v1).claim("data", "a"),
			want:  []string{"DeleteClaim data-web-a", "CreateClaim data-web-fresh for web-fresh", "CreatePod web-fresh"},
		},
		"unless its pod only is not in the cache": {
			scene: sceneOf(data(0).With(noReuse), v1).claim("data", "a").with(func(s *scene) { s.world.Unseen = map[string]*corev1.Pod{"web-a": builders.Pod("web-a").Build()} }),
		},
		"without reuse, a terminating pod takes its claim along and is not waited for": {
			scene: sceneOf(data(1).With(noReuse), v1).pod("a", 0, owns("data"), terminatingSince(0)).claim("data", "a"),
			want:  []string{"GiveClaim data-web-a to Pod", "CreateClaim data-web-fresh for web-fresh", "CreatePod web-fresh"},
		},
		"without reuse, a finished pod takes its claim along": {
			scene: sceneOf(data(0).With(noReuse), v1).pod("a", 0, owns("data"), failed).claim("data", "a"),
			want:  []string{"GiveClaim data-web-a to Pod", "DeletePod web-a CleanUp"},
		},
		"without reuse, the claim of a pod that could not be created waits for it": {
			scene: sceneOf(data(1).With(noReuse), v1).claim("data", "a").with(func(s *scene) { s.world.Prepared = map[string]bool{"web-a": true} }),
			want:  []string{"CreatePod web-a"},
		},
		"until no pod is missing any more": {
			scene: sceneOf(data(0).With(noReuse), v1).claim("data", "a").with(func(s *scene) { s.world.Prepared = map[string]bool{"web-a": true} }),
			want:  []string{"DeleteClaim data-web-a"},
		},
		"changed claim templates touch nothing": {
			scene: sceneOf(inPlace(1).Claim("other"), v1).pod("a", 0, owns("data")).claim("data", "a"),
		},
		"a claim that was deleted before its pod came to a node is created anew": {
			scene: sceneOf(data(1), v1).pod("a", 0, owns("data"), waiting),
			want: []string{"CreateClaim data-web-fresh for web-fresh"},
		},
		"a pod that waits for a claim which nobody can make again, because its template is gone, is replaced": {
			scene: sceneOf(inPlace(1), v1).pod("a", 0, owns("data"), waiting),
			want:  []string{"DeletePod web-a Recreate"},
		},
		"one that runs without it is left alone": {
			scene: sceneOf(inPlace(1), v1).pod("a", 0, owns("data")),
		},
		"and one whose successor would be refused for want of the same volume": {
			scene: sceneOf(inPlace(1), v1).pod("a", 0, owns("data"), waiting, with(func(p *corev1.Pod) {
				p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
			})),
		},
		"names of pods that are gone leave podsToDelete": {
			scene: sceneOf(inPlace(1).PodsToDelete("web-a", "web-gone"), v1).pod("a", 0, func(b *builders.PodBuilder) { b.Lifecycle(kruisev1alpha1.LifecyclePreparingDelete) }).
				with(func(s *scene) {
					s.set.Spec.Lifecycle = &kruisev1alpha1.Lifecycle{PreDelete: &kruisev1alpha1.LifecycleHook{FinalizersHandler: []string{"test/hold"}}}
					s.world.Pods[0].Finalizers = []string{"test/hold"}
				}),
			want: []string{"TrimPodsToDelete web to [web-a]"},
		},
		"so do those of pods on their way out": {
			scene: sceneOf(inPlace(0).PodsToDelete("web-a", "web-b"), v1).pod("a", 0, terminating).pod("b", 0, failed), want: []string{"TrimPodsToDelete web to []"},
		},
		"a name that the cache only does not show stays": {
			scene: sceneOf(inPlace(0).PodsToDelete("web-a"), v1).with(func(s *scene) {
				s.world.Unseen = map[string]*corev1.Pod{"web-a": builders.OwnedPod(s.set, "a", "x").Build()}
			}),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := plan.Next(c.scene.world, now)
			if diff := cmp.Diff(c.want, toldByName(c.scene, got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if got.LookAgain != c.again {
				t.Errorf("looks again in %s, want %s", got.LookAgain, c.again)
			}
		})
	}
}

func TestAPodGetsItsClaimsAsVolumes(t *testing.T) {
	s := sceneOf(inPlace(1).Claim("data").Claim("log").With(func(s *kruisev1alpha1.CloneSet) {
		s.Spec.VolumeClaimTemplates[0].Labels = map[string]string{"tier": "gold", "app": "overruled"}
		s.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "tmp"}, {Name: "log"}}
	}), v1)
	p := plan.Next(s.world, now)
	claim, created := p.Steps[0].(step.CreateClaim).Claim, p.Steps[2].(step.CreatePod).Pod
	id := strings.TrimPrefix(created.Name, "web-")

	var volumes []string
	for _, v := range created.Spec.Volumes {
		volumes = append(volumes, v.Name)
		if v.PersistentVolumeClaim != nil {
			volumes[len(volumes)-1] += "=" + v.PersistentVolumeClaim.ClaimName
		}
	}
	if diff := cmp.Diff([]string{"data=data-web-" + id, "log=log-web-" + id, "tmp"}, volumes); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	want := metav1.ObjectMeta{
		Namespace: builders.Namespace, Name: "data-web-" + id, Labels: map[string]string{"tier": "gold", "app": "web", kruisev1alpha1.LabelInstanceID: id},
		OwnerReferences: created.OwnerReferences,
	}
	if diff := cmp.Diff(want, claim.ObjectMeta); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.set.Spec.VolumeClaimTemplates[0].Spec, claim.Spec); diff != "" {
		t.Errorf("spec of the claim (-want +got):\n%s", diff)
	}
}

func TestAnOldTemplateThatMountsAClaimThatIsNoMoreIsToldAndNotTried(t *testing.T) {
	mounting := func(replicas int32, partition string) *scene {
		s := sceneOf(inPlace(replicas).Partition(partition).With(func(s *kruisev1alpha1.CloneSet) {
			s.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		}), v1)
		s.set.Spec.Template.Spec.Containers[0].VolumeMounts = nil
		s.set.Spec.Template.Spec.Containers[0].Image = v2
		s.world.Revisions = append(s.world.Revisions, s.recorded(2))
		s.world.Live = revision.FromTemplate(&s.set.Spec.Template)
		return s
	}
	s := mounting(3, "2")
	got := plan.Next(s.world, now)
	if diff := cmp.Diff([]string{"CreatePod " + v2}, told(got)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if !strings.Contains(got.Uncreatable, `mounts volume "data"`) || got.Held != got.Uncreatable || got.LookAgain != 0 {
		t.Errorf("uncreatable %q, held %q, looks again in %s", got.Uncreatable, got.Held, got.LookAgain)
	}

	withTemplate := mounting(3, "2")
	withTemplate.set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	if got := plan.Next(withTemplate.world, now); got.Uncreatable != "" || len(got.Steps) != 6 {
		t.Errorf("with the claim template, %q keeps it from %v", got.Uncreatable, told(got))
	}
}
