// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

func request(cpu string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
}

// sizes is a set whose history holds a revision for each request of CPU, the last being the live one.
func sizes(b *builders.CloneSetBuilder, cpus ...string) *scene {
	s := sceneOf(b)
	for i, cpu := range cpus {
		s.set.Spec.Template.Spec.Containers[0].Resources = request(cpu)
		s.live(v1)
		s.world.Revisions = append(s.world.Revisions, s.recorded(int64(i+1)))
	}
	s.set.Status.CurrentRevision = s.world.Revisions[0].Name
	return s
}

// size gives a pod a request, and has the node report it.
func size(cpu string) func(*builders.PodBuilder) {
	return with(func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources = request(cpu)
		p.Status.QOSClass = corev1.PodQOSBurstable
		for i := range p.Status.ContainerStatuses {
			reported := request(cpu)
			p.Status.ContainerStatuses[i].Resources = &reported
		}
	})
}

func resizing(conditions ...corev1.PodCondition) func(*builders.PodBuilder) {
	return with(func(p *corev1.Pod) {
		p.Annotations = map[string]string{kruisev1alpha1.AnnotationInPlaceState: `{"revision":"web-b","updateTimestamp":null,"lastContainerStatuses":null,"updateResources":true,"resizedContainers":["app"]}`}
		p.Status.Conditions = append(p.Status.Conditions, conditions...)
	})
}

var (
	deferred   = corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred}
	infeasible = corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}
)

func only(replicas int32) *builders.CloneSetBuilder {
	return inPlace(replicas).Type(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType)
}

func TestNextResizes(t *testing.T) {
	for sentence, c := range map[string]struct {
		scene   *scene
		want    []string
		refused string
	}{
		"as many pods as may be unavailable": {
			sizes(inPlace(2), "1", "2").pod("a", 0, size("1")).pod("b", 0, size("1")), []string{"UpdateInPlace web-a"}, "",
		},
		"no more while one is on its way, although it serves": {
			sizes(inPlace(2), "1", "2").pod("a", 1, size("2"), resizing(deferred)).pod("b", 0, size("1")), nil, "",
		},
		"a pod that the node cannot resize is recreated": {
			sizes(inPlace(2), "1", "2").pod("a", 1, size("2"), resizing(infeasible)).pod("b", 0, size("1")), []string{"DeletePod web-a Recreate"}, "",
		},
		"also when no other pod is left to update": {
			sizes(inPlace(2), "1", "2").pod("a", 1, size("2"), resizing(infeasible)).pod("b", 1, size("2")), []string{"DeletePod web-a Recreate"}, "",
		},
		"but not while too many are unavailable": {
			sizes(inPlace(2), "1", "2").pod("a", 1, size("2"), resizing(infeasible)).pod("b", 1, size("2"), notReady), nil, "",
		},
		"and not while the set is paused": {
			sizes(inPlace(2).Paused(), "1", "2").pod("a", 1, size("2"), resizing(infeasible)).pod("b", 1, size("2")), nil, "",
		},
		"InPlaceOnly says what is in the way": {
			sizes(only(2), "1", "2").pod("a", 1, size("2"), resizing(infeasible)).pod("b", 1, size("2")), nil, "spec.containers[*].resources",
		},
		"a newer template supersedes a resize that cannot be": {
			sizes(only(2), "1", "64", "2").pod("a", 1, size("64"), resizing(infeasible)).pod("b", 1, size("64"), resizing(infeasible)), []string{"UpdateInPlace web-a"}, "",
		},
		"a pod that an interrupted update has left with another size is resized back": {
			sizes(inPlace(2), "2", "1").pod("a", 1, size("2")).pod("b", 1, size("1")), []string{"UpdateInPlace web-a"}, "",
		},
		"a size that is in no revision is somebody else's work": {
			sizes(inPlace(2), "2", "1").pod("a", 1, size("3")).pod("b", 1, size("1")), nil, "",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := plan.Next(c.scene.world, now)
			if diff := cmp.Diff(c.want, told(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if refused := strings.Join(got.Refused, "; "); !strings.Contains(refused, c.refused) || (refused == "") != (c.refused == "") {
				t.Errorf("refused: %q, want %q", refused, c.refused)
			}
		})
	}
}

func TestAResizeNeedsNoDrain(t *testing.T) {
	s := sizes(inPlace(1), "1", "2").pod("a", 0, size("1"))
	update, is := plan.Next(s.world, now).Steps[0].(step.UpdateInPlace)
	if !is || len(update.Drain) > 0 || len(update.Resize) != 1 {
		t.Errorf("the step is %+v", update)
	}
	resizing := sizes(inPlace(1), "1", "2").pod("a", 1, size("2"), resizing(deferred))
	if m := plan.Next(resizing.world, now).Members[0]; !m.Ready || !m.Available {
		t.Errorf("a pod that serves while it is resized counts as %+v", m)
	}
}

func TestResizingSwitchedOffRecreates(t *testing.T) {
	s := sizes(inPlace(1), "1", "2").pod("a", 0, size("1"))
	s.world.ResizeOff = true
	got := plan.Next(s.world, now)
	if diff := cmp.Diff([]string{"DeletePod web-a Recreate"}, told(got)); diff != "" || !strings.Contains(got.Steps[0].Why(), "spec.containers[app].resources") {
		t.Errorf("because %q; steps (-want +got):\n%s", got.Steps[0].Why(), diff)
	}
}

func TestAPodWhoseResizeTheServerRefusesIsRecreated(t *testing.T) {
	for kind, want := range map[kruisev1alpha1.CloneSetUpdateStrategyType][]string{
		kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType: {"DeletePod web-a Recreate"},
		kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType:       nil,
	} {
		s := sizes(inPlace(1).Type(kind), "1", "2").pod("a", 0, size("1"))
		s.world.Unresizable = map[types.UID]string{s.world.Pods[0].UID: "too small"}
		got := plan.Next(s.world, now)
		if diff := cmp.Diff(want, told(got), cmpopts.EquateEmpty()); diff != "" || len(want)+len(got.Refused) != 1 {
			t.Errorf("%s: refused %q, steps (-want +got):\n%s", kind, got.Refused, diff)
		}
	}
}

func TestTheNextBatchIsBegunByRefresh(t *testing.T) {
	s := sceneOf(inPlace(1).Paused(), v1).pod("a", 0, with(func(p *corev1.Pod) {
		p.Annotations = map[string]string{kruisev1alpha1.AnnotationInPlaceState: `{"revision":"web-a","updateTimestamp":null,"lastContainerStatuses":null,"nextContainerImages":{"app":"` + v2 + `"}}`}
	}))
	got := plan.Next(s.world, now)
	if diff := cmp.Diff([]string{"UpdateInPlace web-a"}, told(got)); diff != "" {
		t.Fatalf("steps (-want +got):\n%s", diff)
	}
	if update := got.Steps[0].(step.UpdateInPlace); update.Patch.Images["app"] != v2 || !update.Resumes {
		t.Errorf("the step is %+v", update)
	}
}
