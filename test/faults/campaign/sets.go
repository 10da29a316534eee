// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/builders"
)

// The kinds and operations, in the order in which they are told.
const (
	CloneSet    = "CloneSet"
	StatefulSet = "StatefulSet"
	Deployment  = "Deployment"

	Create   = "create"
	InPlace  = "in place"
	Recreate = "recreate"
	Scale    = "scale"
	Rollout  = "rollout"
)

// Kinds and Operations are all there are.
var (
	Kinds      = []string{CloneSet, StatefulSet, Deployment}
	Operations = []string{Create, InPlace, Recreate, Scale, Rollout}
)

// does tells whether an operation is ours to do for a kind. Deployments are others', but for rollouts.
func does(kind, operation string) bool { return kind != Deployment || operation == Rollout }

// subject is a set that is worked on. Low and high are what it is scaled to, one after the other.
type subject struct {
	object    client.Object
	low, high int32
	// rollout is what releases it in batches, and older what it takes the place of, when there are two objects.
	rollout *rolloutv1alpha1.RolloutTrait
	older   client.Object
}

func image(version int) string { return fmt.Sprintf("registry.test/app:v%d", version) }

// subjects are two sets of a kind that are released in different ways.
func subjects(kind, namespace string) []*subject {
	switch kind {
	case CloneSet:
		return []*subject{
			{object: placed(builders.CloneSet("web").Replicas(9).InPlace().MaxUnavailable("2").ScaleMaxUnavailable("3").Build(), namespace), low: 4, high: 11},
			{object: placed(builders.CloneSet("shop").Replicas(5).InPlace().Partition("1").MaxUnavailable("1").MaxSurge("1").Grace(1).Claim("data").Build(), namespace), low: 2, high: 6},
		}
	case Deployment:
		return []*subject{{object: deploymentOf("api", namespace, 8, 1)}, {object: deploymentOf("cart", namespace, 5, 1)}}
	}
	return []*subject{
		{object: placed(builders.StatefulSet("db").Replicas(4).InPlace().Claim("data", "1Gi").Build(), namespace), low: 2, high: 5},
		{object: placed(builders.StatefulSet("queue").Parallel().Replicas(8).InPlace().MaxUnavailable("2").Partition(2).ScaleMaxUnavailable("2").Build(), namespace), low: 4, high: 9},
	}
}

func placed(object client.Object, namespace string) client.Object {
	object.SetNamespace(namespace)
	object.SetUID("")
	object.SetGeneration(0)
	object.SetCreationTimestamp(metav1.Time{})
	switch set := object.(type) {
	case *kruisev1alpha1.CloneSet:
		lean(&set.Spec.Template.Spec)
	case *kruisev1beta1.StatefulSet:
		lean(&set.Spec.Template.Spec)
	}
	return object
}

func lean(spec *corev1.PodSpec) { spec.TerminationGracePeriodSeconds = ptr.To[int64](1) }

// release changes the image of a set, and says how that reaches the pods.
func release(object client.Object, version int, recreate bool) {
	switch set := object.(type) {
	case *kruisev1alpha1.CloneSet:
		set.Spec.Template.Spec.Containers[0].Image = image(version)
		set.Spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType
		if set.Spec.UpdateStrategy.MaxSurge != nil { // the API allows no surge there
			set.Spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
		}
		if recreate {
			set.Spec.UpdateStrategy.Type = kruisev1alpha1.ReCreateCloneSetUpdateStrategyType
		}
	case *kruisev1beta1.StatefulSet:
		set.Spec.Template.Spec.Containers[0].Image = image(version)
		set.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = kruisev1beta1.InPlaceOnlyPodUpdateStrategyType
		if recreate {
			set.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = kruisev1beta1.RecreatePodUpdateStrategyType
		}
	}
}

func scale(object client.Object, replicas int32) {
	switch set := object.(type) {
	case *kruisev1alpha1.CloneSet:
		set.Spec.Replicas = ptr.To(replicas)
	case *kruisev1beta1.StatefulSet:
		set.Spec.Replicas = ptr.To(replicas)
	}
}

// settled says what the status still lacks; "" when it reports the spec as reached.
func settled(object client.Object) string {
	lacks := func(observed bool, want, kept, total, ready, available, updated int32) string {
		if !observed || total != want || ready != want || available != want || updated < want-kept {
			return fmt.Sprintf("%s: observed %t, %d of %d pods, %d ready, %d available, %d updated (%d keep their revision)",
				object.GetName(), observed, total, want, ready, available, updated, kept)
		}
		return ""
	}
	switch set := object.(type) {
	case *kruisev1alpha1.CloneSet:
		st := set.Status
		kept := int32(0)
		if p := set.Spec.UpdateStrategy.Partition; p != nil {
			kept = int32(p.IntValue())
		}
		return lacks(st.ObservedGeneration >= set.Generation, ptr.Deref(set.Spec.Replicas, 1), kept, st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas)
	case *appsv1.Deployment:
		st := set.Status
		return lacks(st.ObservedGeneration >= set.Generation, ptr.Deref(set.Spec.Replicas, 1), 0, st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas)
	case *kruisev1beta1.StatefulSet:
		st := set.Status
		kept := ptr.Deref(set.Spec.UpdateStrategy.RollingUpdate.Partition, 0)
		return lacks(st.ObservedGeneration >= set.Generation, ptr.Deref(set.Spec.Replicas, 1), kept, st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas)
	}
	return "an unknown kind"
}

// bystanders are pods that look like the sets' own and belong to somebody else.
func bystanders(kind string, owner *corev1.ConfigMap) []*corev1.Pod {
	names := map[string]string{CloneSet: "web", StatefulSet: "db", Deployment: "api"}
	var pods []*corev1.Pod
	for _, suffix := range []string{"aaaaa", "3", "4", "7"} {
		if kind == StatefulSet && suffix != "aaaaa" && suffix != "7" {
			continue // those ordinals are wanted
		}
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: owner.Namespace, Name: names[kind] + "-" + suffix, Labels: map[string]string{"app": names[kind]},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true)}},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image(0)}}},
		})
	}
	return pods
}
