// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	cloneset "slipway.dev/slipway/internal/cloneset/project"
	inplaceset "slipway.dev/slipway/internal/inplaceset/project"
	statefulset "slipway.dev/slipway/internal/statefulset/project"
	"slipway.dev/slipway/internal/story"
)

func cloneSets() Kind {
	return Kind{
		GVK: kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind), Title: kruisev1alpha1.CloneSetKind,
		Selector:   on(func(s *kruisev1alpha1.CloneSet) *metav1.LabelSelector { return s.Spec.Selector }),
		Template:   on(func(s *kruisev1alpha1.CloneSet) *corev1.PodTemplateSpec { return &s.Spec.Template }),
		Default:    inPlace(defaultCloneSet),
		UsesClaims: on(func(s *kruisev1alpha1.CloneSet) bool { return len(s.Spec.VolumeClaimTemplates) > 0 }),
		UsesNodes:  on(func(s *kruisev1alpha1.CloneSet) bool { return spreads(&s.Spec.Template) }),
		UsesResize: true,
		Tell: func(wanted client.Object, live Live, now time.Time) (story.Story, error) {
			return cloneset.Of(wanted.(*kruisev1alpha1.CloneSet), live.Objects, now), nil
		},
	}
}

func statefulSets() Kind {
	return Kind{
		GVK: kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind), Title: "Advanced StatefulSet",
		Selector:   on(func(s *kruisev1beta1.StatefulSet) *metav1.LabelSelector { return s.Spec.Selector }),
		Template:   on(func(s *kruisev1beta1.StatefulSet) *corev1.PodTemplateSpec { return &s.Spec.Template }),
		Default:    inPlace(defaultAdvancedStatefulSet),
		UsesClaims: on(func(s *kruisev1beta1.StatefulSet) bool { return len(s.Spec.VolumeClaimTemplates) > 0 }),
		UsesResize: true,
		Tell: func(wanted client.Object, live Live, now time.Time) (story.Story, error) {
			return statefulset.Of(wanted.(*kruisev1beta1.StatefulSet), live.Objects, now), nil
		},
	}
}

func inPlaceSets() Kind {
	return Kind{
		GVK: cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind), Title: cafev1alpha1.InPlaceSetKind,
		Selector:  on(func(s *cafev1alpha1.InPlaceSet) *metav1.LabelSelector { return s.Spec.Selector }),
		Template:  on(func(s *cafev1alpha1.InPlaceSet) *corev1.PodTemplateSpec { return &s.Spec.Template }),
		Default:   inPlace(defaultInPlaceSet),
		UsesNodes: on(func(s *cafev1alpha1.InPlaceSet) bool { return spreads(&s.Spec.Template) }),
		Tell: func(wanted client.Object, live Live, now time.Time) (story.Story, error) {
			return inplaceset.Of(wanted.(*cafev1alpha1.InPlaceSet), live.Objects, now), nil
		},
	}
}

// spreads tells whether labels of nodes count: with topology spread constraints they decide which pods are deleted first.
func spreads(t *corev1.PodTemplateSpec) bool { return len(t.Spec.TopologySpreadConstraints) > 0 }
