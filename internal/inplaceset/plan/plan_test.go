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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplaceset/plan"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

var now = builders.Epoch().Add(time.Hour)

const v1, v2 = "registry.test/app:v1", "registry.test/app:v2"

const (
	preparingNormal = kruisev1alpha1.LifecyclePreparingNormal
	preparingUpdate = kruisev1alpha1.LifecyclePreparingUpdate
	preparingDelete = kruisev1alpha1.LifecyclePreparingDelete
	updated         = kruisev1alpha1.LifecycleUpdated
)

// scene is a world under construction: a set with history.
type scene struct {
	set   *cafev1alpha1.InPlaceSet
	world plan.World
}

// sceneOf is a set whose history holds the templates with the given images, oldest first, the last being the live one; the
// first is the current revision.
func sceneOf(b *builders.InPlaceSetBuilder, images ...string) *scene {
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
		Owner: s.set, Reference: *metav1.NewControllerRef(s.set, cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind)),
		Template: s.set.Spec.Template.DeepCopy(), Number: number,
	}.Object()
	if err != nil {
		panic(err)
	}
	object.UID, object.ResourceVersion = types.UID(object.Name), "1"
	return revision.Decode(object)
}

// live changes the live template, and records it.
func (s *scene) live(change func(*corev1.PodTemplateSpec)) *scene {
	change(&s.set.Spec.Template)
	s.world.Live = revision.FromTemplate(&s.set.Spec.Template)
	s.world.Revisions = append(s.world.Revisions, s.recorded(int64(len(s.world.Revisions)+1)))
	return s
}

// pod adds a pod of the n-th revision, changed as asked.
func (s *scene) pod(id string, n int, changes ...func(*builders.PodBuilder)) *scene {
	r := s.world.Revisions[n]
	b := builders.InPlacePod(s.set, id, r.Hash).With(func(p *corev1.Pod) {
		p.Spec.Containers[0] = r.Template.Spec.Containers[0]
		p.ResourceVersion = "1"
	})
	for _, change := range changes {
		change(b)
	}
	s.world.Pods = append(s.world.Pods, b.Build())
	return s
}

func web(replicas int32) *builders.InPlaceSetBuilder {
	return builders.InPlaceSet("web").Replicas(replicas).MaxUnavailable("1")
}

func routed(replicas int32, components ...string) *builders.InPlaceSetBuilder {
	return web(replicas).Traffic(components...)
}

func command(t *corev1.PodTemplateSpec)  { t.Spec.Containers[0].Command = []string{"serve"} }
func stable(t *corev1.PodTemplateSpec)   { t.Labels["track"] = "stable" }
func paused(s *cafev1alpha1.InPlaceSet)  { s.Spec.Strategy.Paused = true }
func grace(s *cafev1alpha1.InPlaceSet)   { s.Spec.Strategy.GracePeriodSeconds = 30 }
func deleted(s *cafev1alpha1.InPlaceSet) { s.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }

func notReady(b *builders.PodBuilder)    { b.NotReady() }
func chosen(b *builders.PodBuilder)      { b.Chosen() }
func failed(b *builders.PodBuilder)      { b.Failed("Evicted") }
func terminating(b *builders.PodBuilder) { b.Terminating(now) }
func closed(b *builders.PodBuilder) {
	b.Condition(kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.ConditionFalse, "", builders.Epoch()).
		Condition(corev1.PodReady, corev1.ConditionFalse, "", builders.Epoch())
}
func by(components ...string) func(*builders.PodBuilder) {
	return func(b *builders.PodBuilder) { b.RoutedBy(components...) }
}
func in(state kruisev1alpha1.LifecycleState) func(*builders.PodBuilder) {
	return func(b *builders.PodBuilder) { b.Lifecycle(state) }
}

// inGrace is a pod out of service whose grace period of 30 seconds is over.
func inGrace(b *builders.PodBuilder) {
	b.Annotation(kruisev1alpha1.AnnotationInPlaceState, `{"revision":"web-x","updateTimestamp":"`+now.Add(-time.Minute).Format(time.RFC3339)+`","lastContainerStatuses":null}`).
		Annotation(kruisev1alpha1.AnnotationInPlaceGrace, `{"revision":"web-x","containerImages":{"app":"`+v2+`"},"graceSeconds":30}`)
	closed(b)
}

// stale is a pod whose gate is closed and whose node has not noticed.
func stale(b *builders.PodBuilder) {
	b.Condition(corev1.PodReady, corev1.ConditionTrue, "", builders.Epoch())
}

// told is a plan as a reader would tell it: what happens to which pod, which state it gets, and what happens to its gate.
func told(p plan.Plan) []string {
	var lines []string
	for _, s := range p.Steps {
		line := strings.TrimPrefix(fmt.Sprintf("%T", s), "step.")
		var conditions []corev1.PodCondition
		switch s := s.(type) {
		case step.CreatePod:
			line += " " + s.Pod.Spec.Containers[0].Image
		case step.DeletePod:
			line += fmt.Sprintf(" %s %s", s.Subject(), []string{"ScaleIn", "Recreate", "Chosen", "CleanUp"}[s.Cause])
		case step.CreateRevision:
			line += fmt.Sprintf(" number %d", s.Revision.Revision)
		case step.PatchPod:
			line += " " + s.Subject()
			if state := s.Patch.Labels[kruisev1alpha1.LabelLifecycleState]; state != nil {
				line += " " + *state
			}
			conditions = s.Conditions
		case step.SetConditions:
			line += " " + s.Subject()
			conditions = s.Conditions
		case step.UpdateInPlace:
			line += " " + s.Subject()
			if s.Grace > 0 {
				line += " after " + s.Grace.String()
			}
		default:
			line += " " + s.Subject()
		}
		for _, c := range conditions {
			if c.Type == kruisev1alpha1.ConditionInPlaceUpdateReady {
				line += " gate=" + string(c.Status)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

type example struct {
	scene *scene
	want  []string
	held  string // part of what is said to hold the pass back
}

// check plans each world, and once more, because the same world leads to the same plan.
func check(t *testing.T, examples map[string]example) {
	t.Helper()
	for sentence, c := range examples {
		t.Run(sentence, func(t *testing.T) {
			got := plan.Next(c.scene.world, now)
			if diff := cmp.Diff(c.want, told(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if !strings.Contains(got.Held, c.held) {
				t.Errorf("held because %q, want %q", got.Held, c.held)
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

func TestPodsAreKept(t *testing.T) {
	check(t, map[string]example{
		"the revision comes first": {scene: sceneOf(web(2)), want: []string{"CreateRevision number 1"}},
		"missing pods are created": {scene: sceneOf(web(2), v1).pod("a", 0), want: []string{"CreatePod " + v1}},
		"without a number there is one": {
			scene: sceneOf(web(1).With(func(s *cafev1alpha1.InPlaceSet) { s.Spec.Replicas = nil }), v1), want: []string{"CreatePod " + v1}},
		"a failed pod is replaced": {scene: sceneOf(web(2), v1).pod("a", 0).pod("b", 0, failed), want: []string{"CreatePod " + v1}},
		"a terminating pod does not count": {
			scene: sceneOf(web(2), v1).pod("a", 0).pod("b", 0, terminating), want: []string{"CreatePod " + v1}},
		"a pod that no longer matches the selector is given up": {
			scene: sceneOf(web(1), v1).pod("a", 0, func(b *builders.PodBuilder) { b.Label("app", "other") }),
			want:  []string{"ReleasePod web-a", "CreatePod " + v1}},
		"scaling in takes the pod that is not ready": {
			scene: sceneOf(web(2), v1).pod("a", 0).pod("b", 0, notReady).pod("c", 0), want: []string{"DeletePod web-b ScaleIn"}},
		"scaling in takes the cheaper pod": {
			scene: sceneOf(web(1), v1).pod("a", 0).pod("b", 0, func(b *builders.PodBuilder) { b.Cost(-5) }), want: []string{"DeletePod web-b ScaleIn"}},
		"scaling in takes old pods first": {
			scene: sceneOf(web(1).Partition("0"), v1, v2).pod("a", 1, notReady).pod("b", 0), want: []string{"DeletePod web-b ScaleIn"}},
		"beside a partition old pods are created, too": {
			scene: sceneOf(web(3).Partition("2"), v1, v2).pod("a", 1), want: []string{"CreatePod " + v1, "CreatePod " + v1}},
		"a chosen pod is deleted within the allowance": {
			scene: sceneOf(web(3), v1).pod("a", 0).pod("b", 0, chosen).pod("c", 0, chosen), want: []string{"DeletePod web-b Chosen"},
			held: "pods chosen for deletion wait until others are available"},
		"of many finished pods the ten newest stay": {
			scene: func() *scene {
				s := sceneOf(web(0), v1)
				for i := range 11 {
					s.pod(fmt.Sprintf("f%02d", i), 0, failed, func(b *builders.PodBuilder) { b.Created(builders.Epoch().Add(time.Duration(i) * time.Second)) })
				}
				return s
			}(), want: []string{"DeletePod web-f00 CleanUp"}},
		"a set that is being deleted is left to the garbage collector": {scene: sceneOf(web(2).With(deleted), v1)},
	})
}

func TestUpdates(t *testing.T) {
	eight := func(maxUnavailable string) *scene {
		b := builders.InPlaceSet("web").Replicas(8)
		if maxUnavailable != "" {
			b.MaxUnavailable(maxUnavailable)
		}
		s := sceneOf(b, v1, v2)
		for _, id := range strings.Split("abcdefgh", "") {
			s.pod(id, 0)
		}
		return s
	}
	check(t, map[string]example{
		"a quarter of the pods by default":  {scene: eight(""), want: []string{"UpdateInPlace web-a", "UpdateInPlace web-b"}},
		"a percentage rounds down":          {scene: eight("37%"), want: []string{"UpdateInPlace web-a", "UpdateInPlace web-b"}},
		"but is at least one pod":           {scene: eight("1%"), want: []string{"UpdateInPlace web-a"}},
		"zero of an older object means one": {scene: eight("0"), want: []string{"UpdateInPlace web-a"}},
		"a pod that is unavailable already goes first and costs nothing": {
			scene: sceneOf(web(3).MaxUnavailable("2"), v1, v2).pod("a", 0).pod("b", 0).pod("c", 0, notReady),
			want:  []string{"UpdateInPlace web-c", "UpdateInPlace web-a"}},
		"it comes first beside a partition, too": {
			scene: sceneOf(web(3).MaxUnavailable("3").Partition("2"), v1, v2).pod("a", 0).pod("b", 0).pod("c", 0, notReady), want: []string{"UpdateInPlace web-c"}},
		"nothing more while an updated pod is not available": {
			scene: sceneOf(web(3), v1, v2).pod("a", 1, notReady).pod("b", 0).pod("c", 0), held: "use up the allowance"},
		"an updated pod that was not ready for long enough uses the allowance up": {
			scene: sceneOf(web(3).With(func(s *cafev1alpha1.InPlaceSet) { s.Spec.MinReadySeconds = 7200 }), v1, v2).pod("a", 1).
				pod("b", 0, func(b *builders.PodBuilder) { b.ReadySince(now.Add(-3 * time.Hour)) }).pod("c", 0, func(b *builders.PodBuilder) { b.ReadySince(now.Add(-3 * time.Hour)) }),
			held: "use up the allowance"},
		"the partition keeps pods": {
			scene: sceneOf(web(3).MaxUnavailable("3").Partition("2"), v1, v2).pod("a", 0).pod("b", 0).pod("c", 0), want: []string{"UpdateInPlace web-a"}},
		"a percentage of a partition rounds up": {
			scene: sceneOf(web(3).MaxUnavailable("3").Partition("34%"), v1, v2).pod("a", 0).pod("b", 0).pod("c", 0), want: []string{"UpdateInPlace web-a"}},
		"but leaves one pod to update": {
			scene: sceneOf(web(3).Partition("99%"), v1, v2).pod("a", 0).pod("b", 0).pod("c", 0), want: []string{"UpdateInPlace web-a"}},
		"paused updates nothing": {
			scene: sceneOf(web(2).With(paused), v1, v2).pod("a", 0).pod("b", 0), held: "paused with 2 pods to update"},
		"but creates": {
			scene: sceneOf(web(2).With(paused), v1, v2).pod("a", 0), want: []string{"CreatePod " + v2}},
		"grace comes between gate and change": {
			scene: sceneOf(web(1).With(grace), v1, v2).pod("a", 0), want: []string{"UpdateInPlace web-a after 30s"}},
		"a label reaches the living pod": {
			scene: sceneOf(web(1), v1).live(stable).pod("a", 0), want: []string{"UpdateInPlace web-a"}},
		"what no living pod can take recreates it, within the allowance": {
			scene: sceneOf(web(2), v1).live(command).pod("a", 0).pod("b", 0), want: []string{"DeletePod web-a Recreate"}},
		"so do resources": {
			scene: sceneOf(web(1), v1).live(func(t *corev1.PodTemplateSpec) {
				t.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
			}).pod("a", 0), want: []string{"DeletePod web-a Recreate"}},
	})
}

func TestARecreationNamesTheFieldAndTheIP(t *testing.T) {
	got := plan.Next(sceneOf(web(1), v1).live(command).pod("a", 0).world, now)
	const want = "spec.containers[app].command cannot change in place; its successor gets another IP"
	if len(got.Steps) != 1 || got.Steps[0].Why() != want {
		t.Errorf("got %v, want one step because %q", told(got), want)
	}
}

func TestTraffic(t *testing.T) {
	check(t, map[string]example{
		"nobody is waited for who is not declared": {
			scene: sceneOf(web(1), v1, v2).pod("a", 0, by("lb")), want: []string{"UpdateInPlace web-a"}},
		"the gate closes before an update": {
			scene: sceneOf(routed(2, "lb"), v1, v2).pod("a", 0, by("lb")).pod("b", 0, by("lb")),
			want:  []string{"PatchPod web-a PreparingUpdate gate=False"}},
		"and nothing changes before every component let go": {
			scene: sceneOf(routed(1, "lb", "rpc"), v1, v2).pod("a", 0, by("rpc"), in(preparingUpdate), closed),
			held:  "components that route traffic have to let go of pods before their update"},
		"then the pod is changed": {
			scene: sceneOf(routed(1, "lb", "rpc"), v1, v2).pod("a", 0, in(preparingUpdate), closed), want: []string{"UpdateInPlace web-a"}},
		"a component that is declared no more is not waited for": {
			scene: sceneOf(routed(1, "lb"), v1, v2).pod("a", 0, by("rpc"), in(preparingUpdate), closed), want: []string{"UpdateInPlace web-a"}},
		"a gate that somebody has opened meanwhile is closed again": {
			scene: sceneOf(routed(1, "lb"), v1, v2).pod("a", 0, by("lb"), in(preparingUpdate)), want: []string{"SetConditions web-a gate=False"}},
		"who comes back in the grace period has to let go again": {
			scene: sceneOf(routed(1, "lb"), v1, v2).pod("a", 1, by("lb"), in(kruisev1alpha1.LifecycleUpdating), inGrace),
			held:  "have to let go of pods before their update"},
		"and the grace period ends without it": {
			scene: sceneOf(routed(1, "lb"), v1, v2).pod("a", 1, in(kruisev1alpha1.LifecycleUpdating), inGrace), want: []string{"UpdateInPlace web-a"}},
		"not while its node reports it ready: it is drained again": {
			scene: sceneOf(routed(1, "lb"), v1, v2).pod("a", 1, in(kruisev1alpha1.LifecycleUpdating), inGrace, stale), want: []string{"SetConditions web-a gate=False"}},
		"the gate of a pod that is being deleted is closed once": {
			scene: sceneOf(routed(1, "lb"), v1).pod("a", 0, by("lb"), terminating, closed, stale), want: []string{"CreatePod " + v1}},
		"the gate opens when the update is done, and the pod is not released yet": {
			scene: sceneOf(routed(1, "lb"), v1, v2).pod("a", 1, in(kruisev1alpha1.LifecycleUpdating), closed),
			want:  []string{"PatchPod web-a Updated gate=True"}},
		"it is released when all declared components are back": {
			scene: sceneOf(routed(1, "lb", "rpc"), v1, v2).pod("a", 1, in(updated), by("lb", "rpc")), want: []string{"PatchPod web-a Normal"}},
		"not before": {
			scene: sceneOf(routed(2, "lb", "rpc"), v1, v2).pod("a", 1, in(updated), by("lb")).pod("b", 0, by("lb", "rpc")), held: "use up the allowance"},
		"or when the missing one is declared no more": {
			scene: sceneOf(routed(1, "lb"), v1, v2).pod("a", 1, in(updated), by("lb")), want: []string{"PatchPod web-a Normal"}},
		"a new pod is not released before it was taken on": {
			scene: sceneOf(routed(2, "lb"), v1, v2).pod("a", 1, in(preparingNormal)).pod("b", 0, by("lb")), held: "use up the allowance"},
		"but that does not keep a broken one from its fix": {
			scene: sceneOf(routed(1, "lb"), v1, v2).pod("a", 0, in(preparingNormal), notReady), want: []string{"UpdateInPlace web-a"}},
		"nor one that was updated and is waited for in vain": {
			scene: sceneOf(routed(1, "lb"), v1, v2).pod("a", 0, in(updated), notReady), want: []string{"UpdateInPlace web-a"}},
		"who routes to it already has to let go first": {
			scene: sceneOf(routed(1, "lb", "rpc"), v1, v2).pod("a", 0, in(updated), by("lb"), notReady), want: []string{"PatchPod web-a PreparingUpdate gate=False"}},
		"a pod that serves does not become unavailable because one more is declared": {
			scene: sceneOf(routed(1, "lb", "rpc"), v1).pod("a", 0, by("lb"))},
		"a change that disturbs nobody waits for nobody": {
			scene: sceneOf(routed(1, "lb"), v1).live(stable).pod("a", 0, by("lb")), want: []string{"UpdateInPlace web-a"}},
		"going back calls the preparation off": {
			scene: sceneOf(routed(1, "lb"), v1, v2).live(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = v1 }).pod("a", 0, by("lb"), in(preparingUpdate), closed),
			want:  []string{"PatchPod web-a Normal gate=True"}},
		"so does a partition": {
			scene: sceneOf(routed(1, "lb").Partition("1"), v1, v2).pod("a", 0, in(preparingUpdate), closed), want: []string{"PatchPod web-a Updated gate=True"}},
		"so does a pause": {
			scene: sceneOf(routed(1, "lb").With(paused), v1, v2).pod("a", 0, by("lb"), in(preparingUpdate), closed), want: []string{"PatchPod web-a Normal gate=True"},
			held: "paused with 1 pod to update"},
		"the gate closes before a deletion": {
			scene: sceneOf(routed(1, "lb"), v1).pod("a", 0, by("lb")).pod("b", 0, by("lb")), want: []string{"PatchPod web-a PreparingDelete gate=False"}},
		"which waits for the components": {
			scene: sceneOf(routed(1, "lb"), v1).pod("a", 0, by("lb"), in(preparingDelete), closed).pod("b", 0, by("lb")),
			held:  "scaling in waits for the pods that are on their way out"},
		"and is done when they let go": {
			scene: sceneOf(routed(1, "lb"), v1).pod("a", 0, in(preparingDelete), closed).pod("b", 0, by("lb")), want: []string{"DeletePod web-a ScaleIn"}},
		"or called off, when the pod is wanted again": {
			scene: sceneOf(routed(2, "lb"), v1).pod("a", 0, in(preparingDelete), closed).pod("b", 0, by("lb")), want: []string{"PatchPod web-a PreparingNormal gate=True"}},
		"the gate closes before a recreation, which is not called off": {
			scene: sceneOf(routed(1, "lb"), v1).live(command).pod("a", 0, by("lb")), want: []string{"PatchPod web-a PreparingDelete gate=False"}},
		"and is told as one when traffic has left": {
			scene: sceneOf(routed(1, "lb"), v1).live(command).pod("a", 0, in(preparingDelete), closed, chosen), want: []string{"DeletePod web-a Recreate"}},
		"the gate of a pod that a person deletes closes": {
			scene: sceneOf(routed(1, "lb"), v1).pod("a", 0, by("lb"), terminating).pod("b", 0, by("lb")), want: []string{"SetConditions web-a gate=False"}},
		"also for a component that is declared no more": {
			scene: sceneOf(web(1), v1).pod("a", 0, by("old"), terminating).pod("b", 0), want: []string{"SetConditions web-a gate=False"}},
		"once": {
			scene: sceneOf(routed(1, "lb"), v1).pod("a", 0, by("lb"), closed, terminating).pod("b", 0, by("lb"))},
		"and not where nobody routes": {
			scene: sceneOf(routed(1, "lb"), v1).pod("a", 0, terminating).pod("b", 0, by("lb"))},
		"also while the set itself is deleted": {
			scene: sceneOf(routed(1, "lb").With(deleted), v1).pod("a", 0, by("lb"), terminating), want: []string{"SetConditions web-a gate=False"}},
		"also when the declaration makes no sense": {
			scene: sceneOf(routed(1, "l b"), v1).pod("a", 0, by("lb"), terminating), want: []string{"SetConditions web-a gate=False"}},
	})
}

func TestWhatCannotBeActedOnIsNotActedOn(t *testing.T) {
	for sentence, c := range map[string]struct {
		set  *builders.InPlaceSetBuilder
		want string
	}{
		"a component with a blank":    {routed(2, "lb", "r pc"), `metadata.annotations[cafe.sofastack.io/traffic-components]: "r pc" is not allowed`},
		"a partition that is a word":  {web(2).Partition("half"), `spec.strategy.partition: "half" is not allowed`},
		"an allowance that is a word": {web(2).MaxUnavailable("some"), `spec.strategy.maxUnavailable: "some" is not allowed`},
		"a selector that its own pods would not match": {web(2).With(func(s *cafev1alpha1.InPlaceSet) { s.Spec.Selector.MatchLabels["app"] = "other" }),
			`spec.selector: "app=other" does not match the labels of spec.template`},
		"an empty selector": {web(2).With(func(s *cafev1alpha1.InPlaceSet) { s.Spec.Selector = &metav1.LabelSelector{} }), "spec.selector: must not be empty"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := plan.Next(sceneOf(c.set, v1).pod("a", 0).world, now)
			if got.Invalid == nil || !strings.HasPrefix(got.Invalid.Error(), c.want) || len(got.Steps) > 0 {
				t.Errorf("got %v with %v, want %q and no steps", got.Invalid, told(got), c.want)
			}
		})
	}
}
