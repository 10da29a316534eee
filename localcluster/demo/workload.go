// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/clonesets"
	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/statefulsets"
)

const (
	namespace = "slipway-demo"
	image     = "nginxinc/nginx-unprivileged:"
)

// subject is a set that a scenario releases.
type subject struct {
	// kind is its kind, and command the word for it that the CLI and kubectl know.
	kind, command string
	// replicas are wanted, of which as many as the allowance may be unavailable.
	replicas, allowance int
	// order names the pods in the order in which they have to get a new image; nil when any is fine.
	order []string
	told  story
	// fresh is the set as it was never seen by an API server.
	fresh func() client.Object
	// image is that of its only container.
	image func(client.Object) *string
	// watched follows the set.
	watched func(context.Context, client.WithWatch, types.NamespacedName, feed.Signal, func(*corev1.Pod, bool)) (followed, error)
}

// story is what is told of a subject: its making, and how the sentences about a good release and about the fix end.
type story struct{ create, good, fix string }

// followed is a set that is followed.
type followed interface {
	sets.Source
	Pods() ([]*corev1.Pod, error)
}

func (s subject) key() types.NamespacedName { return client.ObjectKeyFromObject(s.fresh()) }

// cloneSet is what make demo shows.
func cloneSet() subject {
	return subject{
		kind: kruisev1alpha1.CloneSetKind, command: "cloneset", replicas: 12, allowance: 3, // 25 % of the replicas
		told: story{create: "A CloneSet of 12 pods, of which 3 (25%) may be unavailable at a time"},
		fresh: func() client.Object {
			return &kruisev1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Spec: kruisev1alpha1.CloneSetSpec{
				Replicas: ptr.To[int32](12), Selector: &metav1.LabelSelector{MatchLabels: labels("web")}, Template: template("web"),
				UpdateStrategy: kruisev1alpha1.CloneSetUpdateStrategy{
					Type:           kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType,
					MaxUnavailable: ptr.To(intstr.FromString("25%")),
				},
			}}
		},
		image: func(o client.Object) *string {
			return &o.(*kruisev1alpha1.CloneSet).Spec.Template.Spec.Containers[0].Image
		},
		watched: func(ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal, seen func(*corev1.Pod, bool)) (followed, error) {
			return clonesets.Kind().Follow(ctx, c, key, changed, seen)
		},
	}
}

// statefulSet waits for each of its pods, which is what a broken image used to block for ever.
func statefulSet() subject {
	return subject{
		kind: kruisev1beta1.StatefulSetKind, command: "statefulset", replicas: 6, allowance: 1,
		order: []string{"db-5", "db-4", "db-3", "db-2", "db-1", "db-0"},
		told: story{
			create: "A StatefulSet of 6 ordered pods, db-0 to db-5: each is created when those below it are available",
			good:   ", one at a time from the highest down",
			fix:    ", and nobody deletes a pod",
		},
		fresh: func() client.Object {
			return &kruisev1beta1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db"}, Spec: kruisev1beta1.StatefulSetSpec{
				Replicas: ptr.To[int32](6), Selector: &metav1.LabelSelector{MatchLabels: labels("db")}, Template: template("db"),
				UpdateStrategy: kruisev1beta1.StatefulSetUpdateStrategy{RollingUpdate: &kruisev1beta1.RollingUpdateStatefulSetStrategy{
					PodUpdatePolicy: kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType,
				}},
			}}
		},
		image: func(o client.Object) *string {
			return &o.(*kruisev1beta1.StatefulSet).Spec.Template.Spec.Containers[0].Image
		},
		watched: func(ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal, seen func(*corev1.Pod, bool)) (followed, error) {
			return statefulsets.Kind().Follow(ctx, c, key, changed, seen)
		},
	}
}

func labels(app string) map[string]string { return map[string]string{"app": app} }

// template is of small pods that may run on a cluster with restricted pod security.
func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels(app)},
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
	}
}

// removeSets deletes the sets of every scenario; their pods follow.
func removeSets(ctx context.Context, c client.Client) error {
	// An application takes what it has deployed, and its rollout, along.
	if err := c.DeleteAllOf(ctx, &oamv1beta1.Application{}, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("deleting Applications: %w", err)
	}
	// Rollouts first, and not with what they own: that would be the sets, before they were let go.
	if err := c.DeleteAllOf(ctx, &rolloutv1alpha1.RolloutTrait{}, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("deleting RolloutTraits: %w", err)
	}
	all := []client.Object{freshShop(), freshDeployment(olderShop, "", 0), freshDeployment(newerShop, "", 0), freshRolledSet(), freshMetric("")}
	for _, of := range subjects() {
		all = append(all, of.fresh())
	}
	for _, set := range all {
		err := c.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationForeground))
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %T %s: %w", set, set.GetName(), err)
		}
	}
	return nil
}

// reset removes what an earlier demo left and makes the namespace.
func reset(ctx context.Context, c client.Client) error {
	if err := removeSets(ctx, c); err != nil {
		return err
	}
	room := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{partOf: "slipway"}}}
	err := wait.PollUntilContextTimeout(ctx, lookEvery, patience, true, func(ctx context.Context) (bool, error) {
		for _, list := range []client.ObjectList{
			&kruisev1alpha1.CloneSetList{}, &kruisev1beta1.StatefulSetList{}, &cafev1alpha1.CafeDeploymentList{}, &cafev1alpha1.InPlaceSetList{},
			&oamv1beta1.ApplicationList{}, &oamv1beta1.AppRolloutList{}, &rolloutv1alpha1.RolloutTraitList{}, &appsv1.DeploymentList{}, &corev1.PodList{},
		} {
			if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil || meta.LenList(list) > 0 {
				return false, err
			}
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
func (s subject) setImage(ctx context.Context, c client.Client, name string) (client.Object, error) {
	set := s.fresh()
	if err := c.Get(ctx, s.key(), set); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", s.kind, s.key(), err)
	}
	before := set.DeepCopyObject().(client.Object)
	*s.image(set) = name
	if err := c.Patch(ctx, set, client.MergeFrom(before)); err != nil {
		return nil, fmt.Errorf("changing the image of %s %s: %w", s.kind, s.key(), err)
	}
	return set, nil
}
