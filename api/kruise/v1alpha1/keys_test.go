// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	"github.com/openkruise/kruise-api/apps/pub"
	published "github.com/openkruise/kruise-api/apps/v1alpha1"
	publishedpolicy "github.com/openkruise/kruise-api/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

func TestOurWordsAreThePublishedOnes(t *testing.T) {
	for name, test := range map[string]struct{ ours, theirs string }{
		"revision label":            {kruisev1alpha1.LabelRevision, appsv1.ControllerRevisionHashLabelKey},
		"template hash label":       {kruisev1alpha1.LabelPodTemplateHash, appsv1.DefaultDeploymentUniqueLabelKey},
		"instance id":               {kruisev1alpha1.LabelInstanceID, published.CloneSetInstanceID},
		"specified delete":          {kruisev1alpha1.LabelSpecifiedDelete, published.SpecifiedDeleteKey},
		"scaling exclude":           {kruisev1alpha1.LabelScalingExcludePreparingDelete, published.CloneSetScalingExcludePreparingDeleteKey},
		"pre-download created":      {kruisev1alpha1.LabelImagePreDownloadCreated, published.ImagePreDownloadCreatedKey},
		"pre-download ignored":      {kruisev1alpha1.LabelImagePreDownloadIgnored, published.ImagePreDownloadIgnoredKey},
		"default maxUnavailable":    {kruisev1alpha1.DefaultCloneSetMaxUnavailable, published.DefaultCloneSetMaxUnavailable},
		"delete protection":         {kruisev1alpha1.LabelDeleteProtection, publishedpolicy.DeletionProtectionKey},
		"protection Always":         {kruisev1alpha1.DeleteProtectionAlways, publishedpolicy.DeletionProtectionTypeAlways},
		"protection Cascading":      {kruisev1alpha1.DeleteProtectionCascading, publishedpolicy.DeletionProtectionTypeCascading},
		"lifecycle state":           {kruisev1alpha1.LabelLifecycleState, pub.LifecycleStateKey},
		"lifecycle timestamp":       {kruisev1alpha1.AnnotationLifecycleTimestamp, pub.LifecycleTimestampKey},
		"in-place state":            {kruisev1alpha1.AnnotationInPlaceState, pub.InPlaceUpdateStateKey},
		"in-place state, legacy":    {kruisev1alpha1.AnnotationInPlaceStateLegacy, pub.InPlaceUpdateStateKeyOld},
		"in-place grace":            {kruisev1alpha1.AnnotationInPlaceGrace, pub.InPlaceUpdateGraceKey},
		"in-place grace, legacy":    {kruisev1alpha1.AnnotationInPlaceGraceLegacy, pub.InPlaceUpdateGraceKeyOld},
		"runtime containers":        {kruisev1alpha1.AnnotationRuntimeContainersMeta, pub.RuntimeContainerMetaKey},
		"deletion cost":             {kruisev1alpha1.AnnotationPodDeletionCost, corev1.PodDeletionCost},
		"launch priority":           {kruisev1alpha1.AnnotationContainerLaunchPriority, pub.ContainerLaunchPriorityKey},
		"launch completed":          {kruisev1alpha1.AnnotationContainerLaunchCompleted, pub.ContainerLaunchPriorityCompletedKey},
		"launch ordered":            {kruisev1alpha1.ContainerLaunchOrdered, pub.ContainerLaunchOrdered},
		"launch priority variable":  {kruisev1alpha1.EnvContainerLaunchPriority, pub.ContainerLaunchPriorityEnvName},
		"launch barrier variable":   {kruisev1alpha1.EnvContainerLaunchBarrier, pub.ContainerLaunchBarrierEnvName},
		"unavailable prefix":        {kruisev1alpha1.LabelPrefixUnavailable, pub.PubUnavailablePodLabelPrefix},
		"in-place gate":             {string(kruisev1alpha1.ConditionInPlaceUpdateReady), string(pub.InPlaceUpdateReady)},
		"pod ready gate":            {string(kruisev1alpha1.ConditionKruisePodReady), string(pub.KruisePodReadyConditionType)},
		"state PreparingNormal":     {string(kruisev1alpha1.LifecyclePreparingNormal), string(pub.LifecycleStatePreparingNormal)},
		"state Normal":              {string(kruisev1alpha1.LifecycleNormal), string(pub.LifecycleStateNormal)},
		"state PreparingUpdate":     {string(kruisev1alpha1.LifecyclePreparingUpdate), string(pub.LifecycleStatePreparingUpdate)},
		"state Updating":            {string(kruisev1alpha1.LifecycleUpdating), string(pub.LifecycleStateUpdating)},
		"state Updated":             {string(kruisev1alpha1.LifecycleUpdated), string(pub.LifecycleStateUpdated)},
		"state PreparingDelete":     {string(kruisev1alpha1.LifecyclePreparingDelete), string(pub.LifecycleStatePreparingDelete)},
		"update ReCreate":           {string(kruisev1alpha1.ReCreateCloneSetUpdateStrategyType), string(published.RecreateCloneSetUpdateStrategyType)},
		"update InPlaceIfPossible":  {string(kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType), string(published.InPlaceIfPossibleCloneSetUpdateStrategyType)},
		"update InPlaceOnly":        {string(kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType), string(published.InPlaceOnlyCloneSetUpdateStrategyType)},
		"condition FailedScale":     {string(kruisev1alpha1.CloneSetConditionFailedScale), string(published.CloneSetConditionFailedScale)},
		"condition FailedUpdate":    {string(kruisev1alpha1.CloneSetConditionFailedUpdate), string(published.CloneSetConditionFailedUpdate)},
		"group and version":         {kruisev1alpha1.GroupVersion.String(), published.GroupVersion.String()},
		"group and plural resource": {kruisev1alpha1.Resource("clonesets").String(), published.Resource("clonesets").String()},
	} {
		if test.ours != test.theirs {
			t.Errorf("%s: ours is %q, the published one is %q", name, test.ours, test.theirs)
		}
	}
}

func TestTheSchemeKnowsCloneSets(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := kruisev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatalf("adding to a scheme: %v", err)
	}
	for kind, object := range map[string]runtime.Object{
		kruisev1alpha1.CloneSetKind:          &kruisev1alpha1.CloneSet{},
		kruisev1alpha1.CloneSetKind + "List": &kruisev1alpha1.CloneSetList{},
	} {
		kinds, _, err := scheme.ObjectKinds(object)
		want := schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1alpha1", Kind: kind}
		if err != nil || len(kinds) != 1 || kinds[0] != want {
			t.Errorf("kinds of %T: %v, %v; want %v", object, kinds, err, want)
		}
	}
	if !scheme.Recognizes(kruisev1alpha1.GroupVersion.WithKind("WatchEvent")) {
		t.Error("the scheme cannot decode watches of the group")
	}
}
