// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/cafe/podset"
	cafe "slipway.dev/slipway/internal/cafe/project"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/story"
)

func cafeDeployments() Kind {
	return Kind{
		GVK: cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.CafeDeploymentKind), Title: cafev1alpha1.CafeDeploymentKind,
		Selector:   on(func(d *cafev1alpha1.CafeDeployment) *metav1.LabelSelector { return d.Spec.Selector }),
		Template:   on(func(d *cafev1alpha1.CafeDeployment) *corev1.PodTemplateSpec { return &d.Spec.Template }),
		Default:    inPlace(defaultCafeDeployment),
		UsesResize: true,
		Beside: on(func(d *cafev1alpha1.CafeDeployment) []client.ObjectList {
			kind, err := podset.Of(d.Spec.PodSetType)
			if err != nil {
				return nil // telling fails with it
			}
			return []client.ObjectList{kind.List()}
		}),
		Tell: func(wanted client.Object, live Live, now time.Time) (story.Story, error) {
			return tellCafe(wanted.(*cafev1alpha1.CafeDeployment), live, now)
		},
	}
}

func tellCafe(d *cafev1alpha1.CafeDeployment, live Live, now time.Time) (story.Story, error) {
	kind, err := podset.Of(d.Spec.PodSetType)
	if err != nil {
		return story.Story{}, err
	}
	world := plan.World{Deployment: d, Live: revision.FromTemplate(&d.Spec.Template), Revisions: live.SceneOf(d, d.Spec.Selector).Revisions}
	units := map[string]*plan.Unit{}
	for _, set := range live.Beside {
		if pod.ControllerOf(set) != d.UID || set.GetDeletionTimestamp() != nil {
			continue
		}
		var pods []*corev1.Pod
		for _, p := range live.Pods {
			if pod.IsControlledBy(p, set.GetUID()) {
				pods = append(pods, p)
			}
		}
		shown := kind.Show(set, pods, now)
		shown.Name, shown.Revision, shown.Differs = set.GetName(), set.GetAnnotations()[cafev1alpha1.AnnotationRevision], kind.Differs(set, d)
		name := set.GetLabels()[cafev1alpha1.LabelUnit]
		if units[name] == nil {
			units[name] = &plan.Unit{Name: name}
		}
		units[name].Sets = append(units[name].Sets, shown)
	}
	for _, u := range units {
		slices.SortFunc(u.Sets, func(a, b plan.Set) int { return cmp.Compare(a.Name, b.Name) })
		world.Units = append(world.Units, *u)
	}
	slices.SortFunc(world.Units, func(a, b plan.Unit) int { return cmp.Compare(a.Name, b.Name) })
	return cafe.Of(world, now, goes(d.Spec.PodSetType, live.ResizeOff)), nil
}

// goes is how pod sets of a kind go about an update, by their defaults: nobody sets anything else on them.
func goes(kind cafev1alpha1.PodSetType, resizeOff bool) cafe.Options {
	share := func(value string) func(int) int {
		return func(n int) int {
			limit := intstr.Parse(value)
			down, err := budget.Resolve(&limit, n, budget.Down, "maxUnavailable")
			if err != nil { // it stands above
				return n
			}
			return max(1, down)
		}
	}
	one := func(int) int { return 1 }
	switch kind {
	case cafev1alpha1.CloneSetPodSetType:
		return cafe.Options{Unavailable: share("20%"), ResizeOff: resizeOff}
	case cafev1alpha1.AdvancedStatefulSetPodSetType:
		return cafe.Options{Unavailable: one, ResizeOff: resizeOff}
	case cafev1alpha1.StatefulSetPodSetType, cafev1alpha1.ReplicaSetPodSetType:
		return cafe.Options{Unavailable: one, ResizeOff: true, Recreates: fmt.Sprintf("podSetType is %s", kind)}
	case cafev1alpha1.InPlaceSetPodSetType:
	}
	return cafe.Options{Unavailable: share(cafev1alpha1.DefaultInPlaceSetMaxUnavailable), ResizeOff: true}
}
