// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

const (
	namespace = "slipway-demo"
	setName   = "web"
	replicas  = 12
	allowance = 3 // 25 % of the replicas
	image     = "nginxinc/nginx-unprivileged:"
)

func key() types.NamespacedName { return types.NamespacedName{Namespace: namespace, Name: setName} }

// workload is the set that is released. Its pods are small, and may run on a cluster with restricted pod security.
func workload() *kruisev1alpha1.CloneSet {
	labels := map[string]string{"app": setName}
	return &kruisev1alpha1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: setName},
		Spec: kruisev1alpha1.CloneSetSpec{
			Replicas: ptr.To[int32](replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: kruisev1alpha1.CloneSetUpdateStrategy{
				Type:           kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType,
				MaxUnavailable: ptr.To(intstr.FromString("25%")),
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](1),
					AutomountServiceAccountToken:  ptr.To(false),
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](101),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name: "app", Image: image + "1.27",
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
					}},
				},
			},
		},
	}
}

// removeSet deletes the set; its pods follow.
func removeSet(ctx context.Context, c client.Client) error {
	err := c.Delete(ctx, workload(), client.PropagationPolicy(metav1.DeletePropagationForeground))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting CloneSet %s: %w", key(), err)
	}
	return nil
}

// reset removes what an earlier demo left and makes the namespace.
func reset(ctx context.Context, c client.Client) error {
	if err := removeSet(ctx, c); err != nil {
		return err
	}
	room := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{partOf: "slipway"}}}
	err := wait.PollUntilContextTimeout(ctx, lookEvery, patience, true, func(ctx context.Context) (bool, error) {
		var sets kruisev1alpha1.CloneSetList
		var pods corev1.PodList
		for _, list := range []client.ObjectList{&sets, &pods} {
			if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return false, err
			}
		}
		if len(sets.Items)+len(pods.Items) > 0 {
			return false, nil
		}
		// A namespace that is just being deleted takes nothing new, and goes soon.
		err := c.Create(ctx, room.DeepCopy())
		if err == nil || !apierrors.IsAlreadyExists(err) {
			return err == nil, err
		}
		existing := &corev1.Namespace{}
		err = c.Get(ctx, types.NamespacedName{Name: namespace}, existing)
		return err == nil && existing.DeletionTimestamp == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("making room in namespace %s: %w", namespace, err)
	}
	return nil
}

// setImage changes nothing but the image, as a person would, and returns the set as the API server stored it.
func setImage(ctx context.Context, c client.Client, name string) (*kruisev1alpha1.CloneSet, error) {
	set := &kruisev1alpha1.CloneSet{}
	if err := c.Get(ctx, key(), set); err != nil {
		return nil, fmt.Errorf("reading CloneSet %s: %w", key(), err)
	}
	before := set.DeepCopy()
	set.Spec.Template.Spec.Containers[0].Image = name
	if err := c.Patch(ctx, set, client.MergeFrom(before)); err != nil {
		return nil, fmt.Errorf("changing the image of CloneSet %s: %w", key(), err)
	}
	return set, nil
}
