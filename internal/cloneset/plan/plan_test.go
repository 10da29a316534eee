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

var now = builders.Epoch().Add(time.Hour)

const v1, v2 = "registry.test/app:v1", "registry.test/app:v2"

// scene is a world under construction: a set with history.
type scene struct {
	set   *kruisev1alpha1.CloneSet
	world plan.World
}

// sceneOf is a set whose history holds the templates with the given images, oldest first, the last being
// the live one; the first is the current revision.
func sceneOf(b *builders.CloneSetBuilder, images ...string) *scene {
	s := &scene{set: b.Build()}
	for i, image := range images {
		s.set.Spec.Template.Spec.Containers[0].Image = image
		s.world.Revisions = append(s.world.Revisions, s.recorded(int64(i+1)))
	}
	s.world.Set, s.world.Live = s.set, revision.FromTemplate(&s.set.Spec.Template)
	if len(images) > 0 {
		s.set.Status.CurrentRevision = s.world.Revisions[0].Name
	}
	return s
}

func (s *scene) recorded(number int64) revision.Revision {
	object, err := revision.Draft{
		Owner: s.set, Reference: *metav1.NewControllerRef(s.set, kruisev1alpha1.GroupVersion.WithKind("CloneSet")),
		Template: s.set.Spec.Template.DeepCopy(), Number: number,
	}.Object()
	if err != nil {
		panic(err)
	}
	object.UID, object.ResourceVersion = types.UID(object.Name), "1"
	return revision.Decode(object)
}

// live makes a template with that image the live one, without recording it.
func (s *scene) live(image string) *scene {
	s.set.Spec.Template.Spec.Containers[0].Image = image
	s.world.Live = revision.FromTemplate(&s.set.Spec.Template)
	return s
}

// atOnce bounds how many updates are planned in one look.
func (s *scene) atOnce(n int) *scene {
	s.world.AtOnce = n
	return s
}

// pod adds a pod of the n-th revision, changed as asked.
func (s *scene) pod(id string, n int, changes ...func(*builders.PodBuilder)) *scene {
	r := s.world.Revisions[n]
	b := builders.OwnedPod(s.set, id, r.Hash).With(func(p *corev1.Pod) {
		p.Spec.Containers[0].Image = r.Template.Spec.Containers[0].Image
		p.ResourceVersion = "1"
	}).Condition(kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.ConditionTrue, "", builders.Epoch())
	for _, change := range changes {
		change(b)
	}
	s.world.Pods = append(s.world.Pods, b.Build())
	return s
}

func notReady(b *builders.PodBuilder) { b.NotReady() }
func chosen(b *builders.PodBuilder)   { b.Chosen() }
func failed(b *builders.PodBuilder)   { b.Failed("Evicted") }
func terminating(b *builders.PodBuilder) {
	b.Terminating(now)
}
func with(change func(*corev1.Pod)) func(*builders.PodBuilder) {
	return func(b *builders.PodBuilder) { b.With(change) }
}
func label(key, value string) func(*builders.PodBuilder) {
	return func(b *builders.PodBuilder) { b.Label(key, value) }
}
func state(l kruisev1alpha1.LifecycleState) func(*builders.PodBuilder) {
	return func(b *builders.PodBuilder) { b.Lifecycle(l) }
}

func excluding(value string) func(*kruisev1alpha1.CloneSet) {
	return func(s *kruisev1alpha1.CloneSet) {
		s.Labels = map[string]string{kruisev1alpha1.LabelScalingExcludePreparingDelete: value}
	}
}

// told is a plan as a reader would tell it: what happens to which pod, new pods by their image.
func told(p plan.Plan) []string {
	var lines []string
	for _, s := range p.Steps {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", s), "step.")
		switch s := s.(type) {
		case step.CreatePod:
			lines = append(lines, kind+" "+s.Pod.Spec.Containers[0].Image)
		case step.DeletePod:
			lines = append(lines, fmt.Sprintf("%s %s %s", kind, s.Subject(), []string{"ScaleIn", "Recreate", "Chosen", "CleanUp"}[s.Cause]))
		case step.CreateRevision:
			lines = append(lines, fmt.Sprintf("%s number %d", kind, s.Revision.Revision))
		case step.RenumberRevision:
			lines = append(lines, fmt.Sprintf("%s to %d", kind, s.Number))
		default:
			lines = append(lines, kind+" "+s.Subject())
		}
	}
	return lines
}

func inPlace(replicas int32) *builders.CloneSetBuilder {
	return builders.CloneSet("web").Replicas(replicas).InPlace().MaxUnavailable("1")
}

func TestNextDecides(t *testing.T) {
	for sentence, c := range map[string]struct {
		scene *scene
		want  []string
	}{
		"a new set records its template first": {
			sceneOf(inPlace(3)), []string{"CreateRevision number 1"},
		},
		"then it creates its pods": {
			sceneOf(inPlace(2), v1), []string{"CreatePod " + v1, "CreatePod " + v1},
		},
		"the share of the partition is created from the current revision": {
			sceneOf(inPlace(3).Partition("2"), v1, v2), []string{"CreatePod " + v1, "CreatePod " + v1, "CreatePod " + v2},
		},
		"a settled set needs nothing": {
			sceneOf(inPlace(2), v1).pod("a", 0).pod("b", 0), nil,
		},
		"a new template updates as many pods as may be unavailable": {
			sceneOf(inPlace(3), v1, v2).pod("a", 0).pod("b", 0).pod("c", 0), []string{"UpdateInPlace web-a"},
		},
		"a pod that is unavailable already goes first and costs nothing": {
			sceneOf(inPlace(3).MaxUnavailable("2"), v1, v2).pod("a", 0).pod("b", 0).pod("c", 0, notReady), []string{"UpdateInPlace web-c", "UpdateInPlace web-a"},
		},
		"nothing more is updated while an updated pod is not available": {
			sceneOf(inPlace(3), v1, v2).pod("a", 1, notReady).pod("b", 0).pod("c", 0), nil,
		},
		"no more updates are planned than one look acts on, the first in the order": {
			sceneOf(inPlace(4).MaxUnavailable("100%"), v1, v2).pod("a", 0).pod("b", 0).pod("c", 0).pod("d", 0, notReady).atOnce(3),
			[]string{"UpdateInPlace web-d", "UpdateInPlace web-a", "UpdateInPlace web-b"},
		},
		"recreation deletes": {
			sceneOf(builders.CloneSet("web").Replicas(2).MaxUnavailable("1"), v1, v2).pod("a", 0).pod("b", 0), []string{"DeletePod web-a Recreate"},
		},
		"paused updates nothing but still creates": {
			sceneOf(inPlace(3).Paused(), v1, v2).pod("a", 0).pod("b", 0), []string{"CreatePod " + v2},
		},
		"the user's priority decides which pods go first": {
			sceneOf(inPlace(3).With(func(s *kruisev1alpha1.CloneSet) {
				s.Spec.UpdateStrategy.PriorityStrategy = &kruisev1alpha1.UpdatePriorityStrategy{OrderPriority: []kruisev1alpha1.UpdatePriorityOrderTerm{{OrderedKey: "order"}}}
			}), v1, v2).pod("a", 0, label("order", "1")).pod("b", 0, label("order", "3")).pod("c", 0, label("order", "2")),
			[]string{"UpdateInPlace web-b"},
		},
		"a broken pod is repaired also when others go before it": {
			sceneOf(inPlace(3).With(func(s *kruisev1alpha1.CloneSet) {
				s.Spec.UpdateStrategy.PriorityStrategy = &kruisev1alpha1.UpdatePriorityStrategy{OrderPriority: []kruisev1alpha1.UpdatePriorityOrderTerm{{OrderedKey: "order"}}}
			}), v1, v2).pod("a", 0, label("order", "1"), notReady).pod("b", 0, label("order", "3")).pod("c", 0, label("order", "2")),
			[]string{"UpdateInPlace web-a"},
		},
		"scattering comes after the priority": {
			sceneOf(inPlace(4).With(func(s *kruisev1alpha1.CloneSet) {
				s.Spec.UpdateStrategy.ScatterStrategy = kruisev1alpha1.UpdateScatterStrategy{{Key: "zone", Value: "b"}}
			}), v1, v2).pod("a", 0).pod("b", 0).pod("c", 0, label("zone", "b")).pod("d", 0, label("zone", "b")),
			[]string{"UpdateInPlace web-c"},
		},
		"OnDelete updates nothing": {
			sceneOf(inPlace(2).Type(kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType), v1, v2).pod("a", 0).pod("b", 0), nil,
		},
		"a rollback renumbers the earlier revision and updates to it": {
			sceneOf(inPlace(2), v1, v2).live(v1).pod("a", 1).pod("b", 1), []string{"RenumberRevision to 3", "UpdateInPlace web-a"},
		},
		"a surge comes before an available pod is given up": {
			sceneOf(builders.CloneSet("web").Replicas(2).MaxUnavailable("0").MaxSurge("1"), v1, v2).pod("a", 0).pod("b", 0), []string{"CreatePod " + v2},
		},
		"scaling in takes the pod that is not ready": {
			sceneOf(inPlace(2), v1).pod("a", 0).pod("b", 0, notReady).pod("c", 0), []string{"DeletePod web-b ScaleIn"},
		},
		"scaling in takes the cheaper pod": {
			sceneOf(inPlace(1), v1).pod("a", 0).pod("b", 0, func(b *builders.PodBuilder) { b.Cost(-5) }), []string{"DeletePod web-b ScaleIn"},
		},
		"a chosen pod is deleted within the allowance": {
			sceneOf(inPlace(3), v1).pod("a", 0).pod("b", 0, chosen).pod("c", 0, chosen), []string{"DeletePod web-b Chosen"},
		},
		"a failed pod is replaced at once": {
			sceneOf(inPlace(2), v1).pod("a", 0).pod("b", 0, failed), []string{"CreatePod " + v1},
		},
		"a terminating pod does not count": {
			sceneOf(inPlace(2), v1).pod("a", 0).pod("b", 0, terminating), []string{"CreatePod " + v1},
		},
		"a pod that no longer matches the selector is given up and replaced": {
			sceneOf(inPlace(1), v1).pod("a", 0, func(b *builders.PodBuilder) { b.Label("app", "other") }), []string{"ReleasePod web-a", "CreatePod " + v1},
		},
		"a pod that its node has greeted is put into service": {
			sceneOf(inPlace(1), v1).pod("a", 0, with(func(p *corev1.Pod) {
				p.CreationTimestamp = metav1.NewTime(now)
				p.Status = corev1.PodStatus{StartTime: &p.CreationTimestamp}
			})), []string{"SetConditions web-a"},
		},
		"a pod that its node has not greeted is left alone, however old": {
			sceneOf(inPlace(1), v1).pod("a", 0, with(func(p *corev1.Pod) {
				p.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
				p.Status = corev1.PodStatus{}
			})), nil,
		},
		"a pod that runs is put into service, whether or not its node says since when it knows it": {
			sceneOf(inPlace(1), v1).pod("a", 0, with(func(p *corev1.Pod) {
				p.Status = corev1.PodStatus{Phase: corev1.PodRunning}
			})), []string{"SetConditions web-a"},
		},
		"a state that another publisher has left is brought back to normal": {
			sceneOf(inPlace(1), v1).pod("a", 0, state(kruisev1alpha1.LifecycleUpdated)), []string{"PatchPod web-a"},
		},
		"a pod that was left preparing for its deletion is deleted": {
			sceneOf(inPlace(1), v1).pod("a", 0).pod("b", 0, state(kruisev1alpha1.LifecyclePreparingDelete)), []string{"DeletePod web-b ScaleIn"},
		},
		"or kept, when it is wanted again": {
			sceneOf(inPlace(2), v1).pod("a", 0).pod("b", 0, state(kruisev1alpha1.LifecyclePreparingDelete)), []string{"PatchPod web-b"},
		},
		"a pod with an annotation that makes no sense does not stop the others": {
			sceneOf(inPlace(2).MaxUnavailable("2").Type(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType), v1, v2).
				pod("a", 0, func(b *builders.PodBuilder) { b.Annotation(kruisev1alpha1.AnnotationInPlaceState, "{") }).pod("b", 0),
			[]string{"UpdateInPlace web-b"},
		},
		"nor their refresh": {
			sceneOf(inPlace(2), v1).pod("a", 0, func(b *builders.PodBuilder) { b.Annotation(kruisev1alpha1.AnnotationInPlaceState, "{") }).pod("b", 0, state(kruisev1alpha1.LifecycleUpdated)),
			[]string{"PatchPod web-b"},
		},
		"nor the creation of others": {
			sceneOf(inPlace(2), v1).pod("a", 0, func(b *builders.PodBuilder) { b.Annotation(kruisev1alpha1.AnnotationInPlaceState, "{") }),
			[]string{"CreatePod " + v1},
		},
		"a pod that lacks the hash of its revision gets it": {
			sceneOf(inPlace(1), v1).pod("a", 0, with(func(p *corev1.Pod) { delete(p.Labels, kruisev1alpha1.LabelPodTemplateHash) })), []string{"PatchPod web-a"},
		},
		"ready pods that are not available yet are free to be scaled in": {
			sceneOf(inPlace(1).MinReadySeconds(86400), v1).pod("a", 0).pod("b", 0).pod("c", 0), []string{"DeletePod web-a ScaleIn", "DeletePod web-b ScaleIn"},
		},
		"creations that are held back do not hold the deletion of a chosen pod back": {
			sceneOf(inPlace(4).ScaleMaxUnavailable("1"), v1).pod("a", 0).pod("b", 0, chosen, notReady).pod("c", 0, notReady), []string{"DeletePod web-b Chosen"},
		},
		"nor that of a pod which its hook has let go": {
			sceneOf(hooked(4).ScaleMaxUnavailable("1"), v1).pod("a", 0).pod("b", 0, chosen, state(preparingDelete)).pod("c", 0, notReady), []string{"DeletePod web-b ScaleIn"},
		},
		"beside an old pod that prepares for its update, a lost old pod is made again": {
			sceneOf(hooked(2).Partition("1"), v1, v2).pod("a", 0, state(preparingUpdate), holding("update!")), []string{"CreatePod " + v1},
		},
		"a raised partition moves no pod back": {
			sceneOf(inPlace(2).Partition("2"), v1, v2).pod("a", 1).pod("b", 1), nil,
		},
		"a pod held before its deletion counts as a replica": {
			sceneOf(hooked(2), v1).pod("a", 0).pod("b", 0, chosen, state(preparingDelete), holding("delete!")), nil,
		},
		"unless the set says that such pods are not to be counted": {
			sceneOf(hooked(2).With(excluding("true")), v1).pod("a", 0).pod("b", 0, chosen, state(preparingDelete), holding("delete!")), []string{"CreatePod " + v1},
		},
		"in this very word": {
			sceneOf(hooked(2).With(excluding("yes")), v1).pod("a", 0).pod("b", 0, chosen, state(preparingDelete), holding("delete!")), nil,
		},
		"of many finished pods the ten newest stay": {
			func() *scene {
				s := sceneOf(inPlace(0), v1)
				for i := range 11 {
					s.pod(fmt.Sprintf("f%02d", i), 0, failed, func(b *builders.PodBuilder) { b.Created(builders.Epoch().Add(time.Duration(i) * time.Second)) })
				}
				return s
			}(), []string{"DeletePod web-f00 CleanUp"},
		},
		"a set that is being deleted is left to the garbage collector": {
			sceneOf(inPlace(2).With(func(s *kruisev1alpha1.CloneSet) { s.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }), v1), nil,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := plan.Next(c.scene.world, now)
			if diff := cmp.Diff(c.want, told(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			for _, s := range got.Steps {
				if s.Why() == "" {
					t.Errorf("%T of %s has no reason", s, s.Subject())
				}
			}
			if again := plan.Next(c.scene.world, now); !cmp.Equal(told(got), told(again)) {
				t.Errorf("the same world led to another plan: %v, then %v", told(got), told(again))
			}
		})
	}
}

func TestAChangeThatNoPodCanTakeOver(t *testing.T) {
	changed := func(kind kruisev1alpha1.CloneSetUpdateStrategyType) *scene {
		s := sceneOf(inPlace(1).Type(kind), v1)
		s.set.Spec.Template.Spec.Containers[0].Command = []string{"serve"}
		s.world.Revisions = append(s.world.Revisions, s.recorded(2))
		s.world.Live = revision.FromTemplate(&s.set.Spec.Template)
		return s.pod("a", 0)
	}
	const field = "spec.containers[app].command"

	possible := plan.Next(changed(kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType).world, now)
	if diff := cmp.Diff([]string{"DeletePod web-a Recreate"}, told(possible)); diff != "" || !strings.Contains(possible.Steps[0].Why(), field) {
		t.Errorf("InPlaceIfPossible recreates the pod and names the field; got %v because %q", told(possible), possible.Steps[0].Why())
	}
	only := plan.Next(changed(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType).world, now)
	if len(only.Steps) != 0 || len(only.Refused) != 1 || !strings.Contains(only.Refused[0], field) {
		t.Errorf("InPlaceOnly leaves the pod and names the field; got %v, refused %q", told(only), only.Refused)
	}
}

// Else the new pod is chosen for deletion too, and so on for ever.
func TestANameThatIsChosenForDeletionIsNotUsed(t *testing.T) {
	s := sceneOf(inPlace(1), v1)
	first := plan.Next(s.world, now).Steps[0].Subject()
	s.set.Spec.ScaleStrategy.PodsToDelete = []string{first}
	if second := plan.Next(s.world, now).Steps[0].Subject(); second == first {
		t.Errorf("the pod is to be called %s again", second)
	}
}

func TestANameThatOthersHaveIsNotUsed(t *testing.T) {
	s := sceneOf(inPlace(1), v1)
	first := plan.Next(s.world, now).Steps[0].Subject()
	s.world.Taken = map[string]bool{first: true}
	if second := plan.Next(s.world, now).Steps[0].Subject(); second == first {
		t.Errorf("the pod is to be called %s again", second)
	}

	fresh := sceneOf(inPlace(1))
	first = plan.Next(fresh.world, now).Steps[0].Subject()
	fresh.world.Taken = map[string]bool{first: true}
	next := plan.Next(fresh.world, now)
	if next.Steps[0].Subject() == first || next.CollisionCount != 1 {
		t.Errorf("the revision is to be called %s, with collision count %d", next.Steps[0].Subject(), next.CollisionCount)
	}
}

// A manager that has lost its memory may look at an old view. It must then ask for the same names, so
// that the API server refuses a second pod for a slot that is filled.
func TestAnOldViewAsksForTheSameNames(t *testing.T) {
	s := sceneOf(inPlace(4), v1)
	before := plan.Next(s.world, now)
	for _, taken := range before.Steps[:2] {
		s.pod(strings.TrimPrefix(taken.Subject(), "web-"), 0)
	}
	var after []string
	for _, later := range plan.Next(s.world, now.Add(time.Minute)).Steps {
		after = append(after, later.Subject())
	}
	var want []string
	for _, left := range before.Steps[2:] {
		want = append(want, left.Subject())
	}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("names of the pods that are left (-want +got):\n%s", diff)
	}
}

func TestOrphanRevisionsAreAdoptedAndUsed(t *testing.T) {
	s := sceneOf(inPlace(1), v1)
	s.world.Orphans, s.world.Revisions = s.world.Revisions, nil
	s.world.Pods = nil
	got := plan.Next(s.world, now)
	if diff := cmp.Diff([]string{"AdoptRevision " + s.world.Orphans[0].Name, "CreatePod " + v1}, told(got)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestHistoryKeepsWhatPodsCarryAndAsManyMoreAsAskedFor(t *testing.T) {
	s := sceneOf(inPlace(2).Partition("1").With(func(c *kruisev1alpha1.CloneSet) { c.Spec.RevisionHistoryLimit = ptr.To[int32](1) }),
		"app:1", "app:2", "app:3", "app:4", "app:5")
	s.set.Status.CurrentRevision = s.world.Revisions[1].Name
	s.pod("a", 1).pod("b", 4)
	if diff := cmp.Diff([]string{"ForgetRevision " + s.world.Revisions[0].Name, "ForgetRevision " + s.world.Revisions[2].Name}, told(plan.Next(s.world, now))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestWaitsEndByTime(t *testing.T) {
	s := sceneOf(inPlace(2).MinReadySeconds(60), v1).
		pod("a", 0, func(b *builders.PodBuilder) { b.ReadySince(now.Add(-20 * time.Second)) }).
		pod("b", 0, func(b *builders.PodBuilder) { b.ReadySince(now.Add(-50 * time.Second)) })
	for _, p := range s.world.Pods { // the readiness of the builder leaves the gate out
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: corev1.ConditionTrue})
	}
	if got := plan.Next(s.world, now).LookAgain; got != 10*time.Second {
		t.Errorf("looks again after %s, want 10s: the younger pod is available then", got)
	}
}

// The schema refuses these, but an object can be older than the schema.
func TestASelectorThatCannotBeActedOnIsSaidAndNothingIsDone(t *testing.T) {
	for sentence, selector := range map[string]*metav1.LabelSelector{
		"an empty one": {}, "one that its own pods would not match": {MatchLabels: map[string]string{"app": "other"}},
		"one that is nonsense": {MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Or"}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := sceneOf(inPlace(3), v1).pod("a", 0)
			s.world.Set.Spec.Selector = selector
			got := plan.Next(s.world, now)
			if got.Invalid == nil || !strings.Contains(got.Invalid.Error(), "spec.selector: ") || len(got.Steps) > 0 {
				t.Errorf("invalid %v with %d steps, want an error about spec.selector and no steps", got.Invalid, len(got.Steps))
			}
		})
	}
}
