// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/workload"
	"slipway.dev/slipway/test/simulation/world"
)

// A subject is a kind of workload.
type subject struct {
	// Name is short, and is part of the names of files.
	name             string
	stored           api.Kind
	apiVersion, kind string
}

// subjects are all kinds that are known to the rollout.
var subjects = []subject{
	{"deployment", api.Deployments, "apps/v1", "Deployment"},
	{"statefulset", api.BuiltInStatefulSets, "apps/v1", "StatefulSet"},
	{"daemonset", api.DaemonSets, "apps/v1", "DaemonSet"},
	{"cloneset", api.CloneSets, "apps.kruise.io/v1alpha1", "CloneSet"},
	{"advanced-statefulset", api.StatefulSets, "apps.kruise.io/v1beta1", "StatefulSet"},
	{"inplaceset", api.InPlaceSets, "apps.cafe.cloud.alipay.com/v1alpha1", "InPlaceSet"},
	{"cafedeployment", api.CafeDeployments, "apps.cafe.cloud.alipay.com/v1alpha1", "CafeDeployment"},
}

// pair tells whether it takes two workloads of the kind for a new version.
func (s subject) pair() bool { return s.stored == api.Deployments }

// daemons tells whether the number of pods is that of the nodes.
func (s subject) daemons() bool { return s.stored == api.DaemonSets }

// positions tells whether the partition counts positions and not pods.
func (s subject) positions() bool {
	return s.stored == api.BuiltInStatefulSets || s.stored == api.StatefulSets
}

// ref names a workload of the kind.
func (s subject) ref(name string) rolloutv1alpha1.WorkloadReference {
	return rolloutv1alpha1.WorkloadReference{APIVersion: s.apiVersion, Kind: s.kind, Name: name}
}

// newWorkload is a workload as a client that sets no defaults sends it.
func (s subject) newWorkload(name string, replicas int32, app string) client.Object {
	meta := metav1.ObjectMeta{Namespace: world.Namespace, Name: name}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{world.LabelApp: name}}
	var o client.Object
	switch s.stored {
	case api.Deployments:
		o = &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector}}
	case api.BuiltInStatefulSets:
		o = &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &replicas, Selector: selector, ServiceName: name}}
	case api.DaemonSets:
		o = &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector}}
	case api.CloneSets:
		set := &kruisev1alpha1.CloneSet{ObjectMeta: meta, Spec: kruisev1alpha1.CloneSetSpec{Replicas: &replicas, Selector: selector}}
		set.Spec.UpdateStrategy.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
		o = set
	case api.StatefulSets:
		o = &kruisev1beta1.StatefulSet{ObjectMeta: meta, Spec: kruisev1beta1.StatefulSetSpec{Replicas: &replicas, Selector: selector, ServiceName: name}}
	case api.InPlaceSets:
		o = &cafev1alpha1.InPlaceSet{ObjectMeta: meta, Spec: cafev1alpha1.InPlaceSetSpec{Replicas: &replicas, Selector: selector}}
	case api.CafeDeployments:
		o = &cafev1alpha1.CafeDeployment{ObjectMeta: meta, Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: &replicas, Selector: selector, PodSetType: cafev1alpha1.InPlaceSetPodSetType,
			Topology: cafev1alpha1.Topology{UnitType: cafev1alpha1.CellUnitType, Values: cells},
		}}
	default:
		panic(fmt.Sprintf("%s are no workloads", s.stored))
	}
	setApp(o, app)
	return o
}

// setApp gives a workload a template of its own labels with an image of the tag.
func setApp(o client.Object, app string) {
	f := workload.FieldsOf(o)
	*f.Template = world.Release{App: app}.Template()
	f.Template.Labels[world.LabelApp] = o.GetName()
}

// holdBack sees to it that a new template moves no pod.
func holdBack(o client.Object) {
	f := workload.FieldsOf(o)
	switch {
	case f.Positions:
		*f.Number = ptr.To(ptr.Deref(*f.Replicas, 1))
	case f.Paused != nil:
		*f.Paused = true
	default:
		*f.Still = workload.OnDelete
	}
}
