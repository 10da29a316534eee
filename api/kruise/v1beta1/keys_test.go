// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"testing"

	published "github.com/openkruise/kruise-api/apps/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

func TestOurWordsAreThePublishedOnes(t *testing.T) {
	for name, test := range map[string]struct{ ours, theirs string }{
		"pod name label":            {kruisev1beta1.LabelPodName, appsv1.StatefulSetPodNameLabel},
		"pod index label":           {kruisev1beta1.LabelPodIndex, appsv1.PodIndexLabel},
		"owner of a resized claim":  {kruisev1beta1.AnnotationOwnedByStatefulSet, "apps.kruise.io/owned-by-asts"},
		"pods that wait":            {string(kruisev1beta1.OrderedReadyPodManagement), string(appsv1.OrderedReadyPodManagement)},
		"pods that do not wait":     {string(kruisev1beta1.ParallelPodManagement), string(appsv1.ParallelPodManagement)},
		"update RollingUpdate":      {string(kruisev1beta1.RollingUpdateStatefulSetStrategyType), string(appsv1.RollingUpdateStatefulSetStrategyType)},
		"update OnDelete":           {string(kruisev1beta1.OnDeleteStatefulSetStrategyType), string(appsv1.OnDeleteStatefulSetStrategyType)},
		"policy ReCreate":           {string(kruisev1beta1.RecreatePodUpdateStrategyType), string(published.RecreatePodUpdateStrategyType)},
		"policy InPlaceIfPossible":  {string(kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType), string(published.InPlaceIfPossiblePodUpdateStrategyType)},
		"policy InPlaceOnly":        {string(kruisev1beta1.InPlaceOnlyPodUpdateStrategyType), string(published.InPlaceOnlyPodUpdateStrategyType)},
		"claims OnDelete":           {string(kruisev1beta1.OnPVCDeleteVolumeClaimUpdateStrategyType), string(published.OnPVCDeleteVolumeClaimUpdateStrategyType)},
		"claims OnPodRollingUpdate": {string(kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType), string(published.OnPodRollingUpdateVolumeClaimUpdateStrategyType)},
		"claims are kept":           {string(kruisev1beta1.RetainPersistentVolumeClaimRetentionPolicyType), string(published.RetainPersistentVolumeClaimRetentionPolicyType)},
		"claims are deleted":        {string(kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType), string(published.DeletePersistentVolumeClaimRetentionPolicyType)},
		"condition FailedCreatePod": {string(kruisev1beta1.StatefulSetConditionFailedCreatePod), string(published.FailedCreatePod)},
		"condition FailedUpdatePod": {string(kruisev1beta1.StatefulSetConditionFailedUpdatePod), string(published.FailedUpdatePod)},
		"group and version":         {kruisev1beta1.GroupVersion.String(), published.GroupVersion.String()},
		"group and plural resource": {kruisev1beta1.Resource("statefulsets").String(), published.Resource("statefulsets").String()},
	} {
		if test.ours != test.theirs {
			t.Errorf("%s: ours is %q, the published one is %q", name, test.ours, test.theirs)
		}
	}
}

func TestTheSchemeKnowsStatefulSets(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := kruisev1beta1.AddToScheme(scheme); err != nil {
		t.Fatalf("adding to a scheme: %v", err)
	}
	for kind, object := range map[string]runtime.Object{
		kruisev1beta1.StatefulSetKind:          &kruisev1beta1.StatefulSet{},
		kruisev1beta1.StatefulSetKind + "List": &kruisev1beta1.StatefulSetList{},
	} {
		kinds, _, err := scheme.ObjectKinds(object)
		want := schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1beta1", Kind: kind}
		if err != nil || len(kinds) != 1 || kinds[0] != want {
			t.Errorf("kinds of %T: %v, %v; want %v", object, kinds, err, want)
		}
	}
	if !scheme.Recognizes(kruisev1beta1.GroupVersion.WithKind("WatchEvent")) {
		t.Error("the scheme cannot decode watches of the group")
	}
}
