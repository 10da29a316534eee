// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

func TestTheGateIsTheOneThatAllKindsShare(t *testing.T) {
	if cafev1alpha1.ConditionInPlaceUpdateReady != kruisev1alpha1.ConditionInPlaceUpdateReady {
		t.Errorf("the gate is %q here and %q there", cafev1alpha1.ConditionInPlaceUpdateReady, kruisev1alpha1.ConditionInPlaceUpdateReady)
	}
}

func TestKeysAreOnesThatTheServerTakes(t *testing.T) {
	for _, key := range []string{
		cafev1alpha1.LabelCell, cafev1alpha1.LabelUnit, cafev1alpha1.LabelCafeDeployment, cafev1alpha1.AnnotationTrafficComponents,
		cafev1alpha1.AnnotationUpgradeConfirmed, cafev1alpha1.FinalizerPrefixTraffic + "lb", corev1.LabelTopologyZone,
	} {
		if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
			t.Errorf("%s: %v", key, wrong)
		}
	}
}

func TestTheSchemeKnowsTheKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := cafev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatalf("adding to a scheme: %v", err)
	}
	for kind, object := range map[string]runtime.Object{
		cafev1alpha1.InPlaceSetKind:              &cafev1alpha1.InPlaceSet{},
		cafev1alpha1.InPlaceSetKind + "List":     &cafev1alpha1.InPlaceSetList{},
		cafev1alpha1.CafeDeploymentKind:          &cafev1alpha1.CafeDeployment{},
		cafev1alpha1.CafeDeploymentKind + "List": &cafev1alpha1.CafeDeploymentList{},
	} {
		kinds, _, err := scheme.ObjectKinds(object)
		want := schema.GroupVersionKind{Group: "apps.cafe.cloud.alipay.com", Version: "v1alpha1", Kind: kind}
		if err != nil || len(kinds) != 1 || kinds[0] != want {
			t.Errorf("kinds of %T: %v, %v; want %v", object, kinds, err, want)
		}
	}
	if !scheme.Recognizes(cafev1alpha1.GroupVersion.WithKind("WatchEvent")) {
		t.Error("the scheme cannot decode watches of the group")
	}
}
