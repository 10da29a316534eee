// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
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

// fields are where a workload keeps what matters here. A kind has not what is nil.
type fields struct {
	replicas  **int32
	template  *corev1.PodTemplateSpec
	paused    *bool
	number    **int32
	share     **intstr.IntOrString
	still     *string // the type of a strategy by which nothing is updated: onDelete
	observed  int64
	status    counts
	positions bool
}

// counts are what a status says of pods. Updated and both are of those on the newest template.
type counts struct{ pods, ready, available, updated, both int32 }

const onDelete = "OnDelete"

func fieldsOf(o client.Object) fields {
	switch o := o.(type) {
	case *appsv1.Deployment:
		st := &o.Status
		return fields{
			replicas: &o.Spec.Replicas, template: &o.Spec.Template, paused: &o.Spec.Paused, observed: st.ObservedGeneration,
			status: counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, 0, 0},
		}
	case *appsv1.StatefulSet:
		if o.Spec.UpdateStrategy.RollingUpdate == nil {
			o.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
		}
		st := &o.Status
		return fields{
			replicas: &o.Spec.Replicas, template: &o.Spec.Template, number: &o.Spec.UpdateStrategy.RollingUpdate.Partition, positions: true,
			still: (*string)(&o.Spec.UpdateStrategy.Type), observed: st.ObservedGeneration,
			status: counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, 0, 0},
		}
	case *appsv1.DaemonSet:
		st := &o.Status
		return fields{
			template: &o.Spec.Template, still: (*string)(&o.Spec.UpdateStrategy.Type), observed: st.ObservedGeneration,
			status: counts{st.CurrentNumberScheduled, st.NumberReady, st.NumberAvailable, 0, 0},
		}
	case *kruisev1alpha1.CloneSet:
		st := &o.Status
		return fields{
			replicas: &o.Spec.Replicas, template: &o.Spec.Template, paused: &o.Spec.UpdateStrategy.Paused, share: &o.Spec.UpdateStrategy.Partition,
			observed: st.ObservedGeneration, status: counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.UpdatedAvailableReplicas},
		}
	case *kruisev1beta1.StatefulSet:
		if o.Spec.UpdateStrategy.RollingUpdate == nil {
			o.Spec.UpdateStrategy.RollingUpdate = &kruisev1beta1.RollingUpdateStatefulSetStrategy{}
		}
		roll, st := o.Spec.UpdateStrategy.RollingUpdate, &o.Status
		return fields{
			replicas: &o.Spec.Replicas, template: &o.Spec.Template, paused: &roll.Paused, number: &roll.Partition, positions: true,
			still: (*string)(&o.Spec.UpdateStrategy.Type), observed: st.ObservedGeneration,
			status: counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, 0, 0},
		}
	case *cafev1alpha1.InPlaceSet:
		st := &o.Status
		return fields{
			replicas: &o.Spec.Replicas, template: &o.Spec.Template, paused: &o.Spec.Strategy.Paused, share: &o.Spec.Strategy.Partition,
			observed: st.ObservedGeneration, status: counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.UpdatedAvailableReplicas},
		}
	case *cafev1alpha1.CafeDeployment:
		st := &o.Status
		return fields{
			replicas: &o.Spec.Replicas, template: &o.Spec.Template, paused: &o.Spec.Strategy.Pause, number: &o.Spec.Strategy.Partition,
			observed: st.ObservedGeneration, status: counts{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.UpdatedAvailableReplicas},
		}
	}
	panic(fmt.Sprintf("%T is no workload", o))
}

// setApp gives a workload a template of its own labels with an image of the tag.
func setApp(o client.Object, app string) {
	f := fieldsOf(o)
	*f.template = world.Release{App: app}.Template()
	f.template.Labels[world.LabelApp] = o.GetName()
}

// holdBack sees to it that a new template moves no pod.
func holdBack(o client.Object) {
	f := fieldsOf(o)
	switch {
	case f.positions:
		*f.number = ptr.To(ptr.Deref(*f.replicas, 1))
	case f.paused != nil:
		*f.paused = true
	default:
		*f.still = onDelete
	}
}

// spec is what a workload is asked for, as the simulation reads it.
type spec struct {
	app              string
	replicas         int
	kept             int // pods on older templates, by the partition
	partition        bool
	paused, onDelete bool
	held             bool
}

func specOf(o client.Object) spec {
	copied, _ := o.DeepCopyObject().(client.Object) // fieldsOf fills in what is absent
	f := fieldsOf(copied)
	s := spec{app: world.ReleaseOf(f.template.Labels, &f.template.Spec).App}
	if f.replicas != nil {
		s.replicas = int(ptr.Deref(*f.replicas, 1))
	}
	if f.paused != nil {
		s.paused = *f.paused
	}
	if f.still != nil {
		s.onDelete = *f.still == onDelete
	}
	switch {
	case f.number != nil && *f.number != nil:
		s.kept, s.partition = int(**f.number), true
	case f.share != nil && *f.share != nil:
		s.kept, s.partition = world.Share(*f.share, s.replicas, true, 0), true
	}
	s.held = len(traces(o)) > 0
	return s
}

// traces are what a rollout has put on an object.
func traces(o client.Object) []string {
	var found []string
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == rolloutv1alpha1.RolloutTraitKind {
			found = append(found, "an owner reference to "+ref.Name)
		}
	}
	if o.GetLabels()[rolloutv1alpha1.LabelHeld] != "" {
		found = append(found, "the label "+rolloutv1alpha1.LabelHeld)
	}
	if o.GetAnnotations()[rolloutv1alpha1.AnnotationHeld] != "" {
		found = append(found, "the annotation "+rolloutv1alpha1.AnnotationHeld)
	}
	for _, f := range o.GetFinalizers() {
		if strings.HasPrefix(f, "rollout.slipway.dev/") {
			found = append(found, "the finalizer "+f)
		}
	}
	return found
}
