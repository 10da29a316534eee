// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// TestKeysAreThoseThatOthersKnow: dashboards and scripts find objects by them.
func TestKeysAreThoseThatOthersKnow(t *testing.T) {
	for key, want := range map[string]string{
		oamv1beta1.LabelAppName:               "app.oam.dev/name",
		oamv1beta1.LabelComponent:             "app.oam.dev/component",
		oamv1beta1.LabelAppRevision:           "app.oam.dev/appRevision",
		oamv1beta1.LabelComponentRevision:     "app.oam.dev/revision",
		oamv1beta1.LabelWorkloadType:          "workload.oam.dev/type",
		oamv1beta1.LabelTraitType:             "trait.oam.dev/type",
		oamv1beta1.LabelAppRevisionHash:       "app.oam.dev/app-revision-hash",
		oamv1beta1.LabelComponentRevisionHash: "app.oam.dev/component-revision-hash",
		oamv1beta1.AnnotationRolloutTemplate:  "app.oam.dev/rollout-template",
		oamv1beta1.AnnotationDescription:      "definition.oam.dev/description",
		oamv1beta1.FinalizerApplication:       "app.slipway.dev/release",
	} {
		if key != want {
			t.Errorf("got %s, want %s", key, want)
		}
		if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
			t.Errorf("%s: %v", key, wrong)
		}
	}
}

func TestOnlyTheWordTrueHoldsBackADeployment(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false, "": false, "True": false, "1": false} {
		app := &oamv1beta1.Application{}
		app.Annotations = map[string]string{oamv1beta1.AnnotationRolloutTemplate: value}
		if got := app.IsRolloutTemplate(); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	if (&oamv1beta1.Application{}).IsRolloutTemplate() {
		t.Error("an application without annotations is not deployed")
	}
}

func TestTheSchemeKnowsTheKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := oamv1beta1.AddToScheme(scheme); err != nil {
		t.Fatalf("adding to a scheme: %v", err)
	}
	for kind, object := range map[string]runtime.Object{
		oamv1beta1.ApplicationKind:                  &oamv1beta1.Application{},
		oamv1beta1.ApplicationKind + "List":         &oamv1beta1.ApplicationList{},
		oamv1beta1.ApplicationRevisionKind:          &oamv1beta1.ApplicationRevision{},
		oamv1beta1.ApplicationRevisionKind + "List": &oamv1beta1.ApplicationRevisionList{},
		oamv1beta1.ComponentDefinitionKind:          &oamv1beta1.ComponentDefinition{},
		oamv1beta1.ComponentDefinitionKind + "List": &oamv1beta1.ComponentDefinitionList{},
		oamv1beta1.TraitDefinitionKind:              &oamv1beta1.TraitDefinition{},
		oamv1beta1.TraitDefinitionKind + "List":     &oamv1beta1.TraitDefinitionList{},
		oamv1beta1.AppRolloutKind:                   &oamv1beta1.AppRollout{},
		oamv1beta1.AppRolloutKind + "List":          &oamv1beta1.AppRolloutList{},
	} {
		kinds, _, err := scheme.ObjectKinds(object)
		want := schema.GroupVersionKind{Group: "core.oam.dev", Version: "v1beta1", Kind: kind}
		if err != nil || len(kinds) != 1 || kinds[0] != want {
			t.Errorf("kinds of %T: %v, %v; want %v", object, kinds, err, want)
		}
	}
	if !scheme.Recognizes(oamv1beta1.GroupVersion.WithKind("WatchEvent")) {
		t.Error("the scheme cannot decode watches of the group")
	}
}
