// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

const (
	subjectDeployment = "Deployment"
	labelApp          = "app"
	container         = "app"
)

// way is how a release reaches the pods.
type way int

const (
	inPlace way = iota
	recreate
)

// kind is a kind of workload that can be released.
type kind interface {
	// name is the kind's name in the API.
	name() string
	// controller is the name that our manager's metrics have for the kind's controller.
	controller() string
	// fresh is a workload that was never seen by an API server.
	fresh(key client.ObjectKey, replicas int) client.Object
	list() client.ObjectList
	scale(o client.Object, replicas int)
	// release changes the image, how the change is brought about, and how many pods may be unavailable meanwhile.
	release(o client.Object, image string, w way, unavailable intstr.IntOrString)
	// settled says that the workload's status reports the newest spec as reached.
	settled(o client.Object) bool
}

// kinds are the kinds that Slipway serves, by the name that --kind takes.
var kinds = map[string]kind{"cloneset": cloneSet{}, "statefulset": statefulSet{}, kindCafe: cafeDeployment{}, kindRollout: rolloutTrait{}}

// image names an image; nothing but its tag ever changes.
func image(tag int) string { return fmt.Sprintf("registry.example/app:%d", tag) }

// template is the same for all kinds. It is of an ordinary size, since every byte is read, sent and kept many times.
func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{labelApp: app}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			AutomountServiceAccountToken:  ptr.To(false),
			Containers: []corev1.Container{{
				Name:  container,
				Image: image(0),
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				Env:   []corev1.EnvVar{{Name: "REGION", Value: "eu"}, {Name: "LOG_LEVEL", Value: "info"}, {Name: "THREADS", Value: "8"}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("1Mi"),
				}},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http")},
				}},
			}},
		},
	}
}

func objectMeta(key client.ObjectKey) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{labelApp: app}}
}

type cloneSet struct{}

func (cloneSet) name() string            { return "CloneSet" }
func (cloneSet) controller() string      { return "cloneset" }
func (cloneSet) list() client.ObjectList { return &kruisev1alpha1.CloneSetList{} }

func (cloneSet) fresh(key client.ObjectKey, replicas int) client.Object {
	return &kruisev1alpha1.CloneSet{
		ObjectMeta: objectMeta(key),
		Spec: kruisev1alpha1.CloneSetSpec{
			Replicas: ptr.To(int32(replicas)), Selector: selector(key.Name), Template: template(key.Name),
			UpdateStrategy: kruisev1alpha1.CloneSetUpdateStrategy{Type: kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType},
		},
	}
}

func (cloneSet) scale(o client.Object, replicas int) {
	o.(*kruisev1alpha1.CloneSet).Spec.Replicas = ptr.To(int32(replicas))
}

func (cloneSet) release(o client.Object, image string, w way, unavailable intstr.IntOrString) {
	spec := &o.(*kruisev1alpha1.CloneSet).Spec
	spec.Template.Spec.Containers[0].Image = image
	spec.UpdateStrategy.MaxUnavailable = &unavailable
	// Were it only "if possible", a manager that cannot would be measured doing something else.
	spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType
	if w == recreate {
		spec.UpdateStrategy.Type = kruisev1alpha1.ReCreateCloneSetUpdateStrategyType
	}
}

func (cloneSet) settled(o client.Object) bool {
	set := o.(*kruisev1alpha1.CloneSet)
	want, s := ptr.Deref(set.Spec.Replicas, 1), set.Status
	return s.ObservedGeneration >= set.Generation && s.Replicas == want && s.UpdatedReplicas == want && s.ReadyReplicas == want &&
		s.UpdatedReadyReplicas == want && s.AvailableReplicas == want
}

// statefulSet is asked for pods that do not wait for one another: what the machine can do is measured, and not how long
// a queue is.
type statefulSet struct{}

func (statefulSet) name() string            { return "StatefulSet" }
func (statefulSet) controller() string      { return "statefulset" }
func (statefulSet) list() client.ObjectList { return &kruisev1beta1.StatefulSetList{} }

func (statefulSet) fresh(key client.ObjectKey, replicas int) client.Object {
	return &kruisev1beta1.StatefulSet{
		ObjectMeta: objectMeta(key),
		Spec: kruisev1beta1.StatefulSetSpec{
			Replicas: ptr.To(int32(replicas)), Selector: selector(key.Name), Template: template(key.Name),
			PodManagementPolicy: kruisev1beta1.ParallelPodManagement,
			UpdateStrategy: kruisev1beta1.StatefulSetUpdateStrategy{RollingUpdate: &kruisev1beta1.RollingUpdateStatefulSetStrategy{
				PodUpdatePolicy: kruisev1beta1.InPlaceIfPossiblePodUpdateStrategyType,
			}},
		},
	}
}

func (statefulSet) scale(o client.Object, replicas int) {
	o.(*kruisev1beta1.StatefulSet).Spec.Replicas = ptr.To(int32(replicas))
}

func (statefulSet) release(o client.Object, image string, w way, unavailable intstr.IntOrString) {
	spec := &o.(*kruisev1beta1.StatefulSet).Spec
	spec.Template.Spec.Containers[0].Image = image
	if spec.UpdateStrategy.RollingUpdate == nil {
		spec.UpdateStrategy.RollingUpdate = &kruisev1beta1.RollingUpdateStatefulSetStrategy{}
	}
	rolling := spec.UpdateStrategy.RollingUpdate
	rolling.MaxUnavailable = &unavailable
	rolling.PodUpdatePolicy = kruisev1beta1.InPlaceOnlyPodUpdateStrategyType // as for CloneSets
	if w == recreate {
		rolling.PodUpdatePolicy = kruisev1beta1.RecreatePodUpdateStrategyType
	}
}

func (statefulSet) settled(o client.Object) bool {
	set := o.(*kruisev1beta1.StatefulSet)
	want, s := ptr.Deref(set.Spec.Replicas, 1), set.Status
	return s.ObservedGeneration >= set.Generation && s.Replicas == want && s.UpdatedReplicas == want && s.ReadyReplicas == want &&
		s.UpdatedReadyReplicas == want && s.AvailableReplicas == want
}

// deployment is the built-in kind to compare with: it always replaces pods.
type deployment struct{}

func (deployment) name() string            { return subjectDeployment }
func (deployment) controller() string      { return "deployment" }
func (deployment) list() client.ObjectList { return &appsv1.DeploymentList{} }

func (deployment) fresh(key client.ObjectKey, replicas int) client.Object {
	return &appsv1.Deployment{
		ObjectMeta: objectMeta(key),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(replicas)), Selector: selector(key.Name), Template: template(key.Name),
			// A big release on a slow machine is not a failed one.
			ProgressDeadlineSeconds: ptr.To[int32](24 * 60 * 60),
		},
	}
}

func (deployment) scale(o client.Object, replicas int) {
	o.(*appsv1.Deployment).Spec.Replicas = ptr.To(int32(replicas))
}

func (deployment) release(o client.Object, image string, _ way, unavailable intstr.IntOrString) {
	spec := &o.(*appsv1.Deployment).Spec
	spec.Template.Spec.Containers[0].Image = image
	spec.Strategy = appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &unavailable, MaxSurge: ptr.To(intstr.FromInt32(0))},
	}
}

func (deployment) settled(o client.Object) bool {
	d := o.(*appsv1.Deployment)
	want, s := ptr.Deref(d.Spec.Replicas, 1), d.Status
	return s.ObservedGeneration >= d.Generation && s.Replicas == want && s.UpdatedReplicas == want && s.ReadyReplicas == want &&
		s.AvailableReplicas == want
}
