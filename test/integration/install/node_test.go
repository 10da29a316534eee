// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/node"
)

// unkept: the server keeps no generations in statuses of pods, as one before Kubernetes 1.34.
var unkept bool

// playNode does for the pods of set what their node would do next, once. It returns an error until there are want pods
// and all are ready.
func playNode(t *testing.T, c client.Client, set *kruisev1alpha1.CloneSet, want int) error {
	t.Helper()
	pods := &corev1.PodList{}
	if err := c.List(t.Context(), pods, client.InNamespace(set.Namespace), client.MatchingLabels(set.Spec.Selector.MatchLabels)); err != nil {
		return err
	}
	ready := 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		if err := playPod(t, c, pod); err != nil {
			return err
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if len(pods.Items) != want || ready != want {
		return fmt.Errorf("%d pods, %d ready, want %d", len(pods.Items), ready, want)
	}
	return nil
}

func playPod(t *testing.T, c client.Client, pod *corev1.Pod) error {
	t.Helper()
	outcome := node.Model{NoGenerations: unkept}.Next(pod, time.Now())
	if outcome.Gone {
		return c.Delete(t.Context(), pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	}
	if outcome.Status == nil {
		return nil
	}
	patch, err := node.Patch(pod, outcome.Status)
	if err != nil {
		return err
	}
	if err := c.Status().Patch(t.Context(), pod, client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
		return err
	}
	unkept = unkept || outcome.Status.ObservedGeneration > 0 && pod.Status.ObservedGeneration == 0
	return nil
}

// updated returns an error until the status of set counts want ready pods of the newest revision.
func updated(t *testing.T, c client.Client, set *kruisev1alpha1.CloneSet, want int32) error {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		return err
	}
	if s := set.Status; s.ObservedGeneration != set.Generation || s.UpdatedReadyReplicas != want {
		return fmt.Errorf("generation %d of %d is observed, %d pods are updated and ready", s.ObservedGeneration, set.Generation, s.UpdatedReadyReplicas)
	}
	return nil
}
