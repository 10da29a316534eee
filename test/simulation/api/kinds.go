// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// Kind is one of the kinds that this server stores.
type Kind int

// The kinds of the simulation, in the order in which they are reported. BuiltInStatefulSets are those of group apps.
const (
	CloneSets Kind = iota
	Revisions
	Pods
	Claims
	Nodes
	StatefulSets
	InPlaceSets
	CafeDeployments
	ReplicaSets
	BuiltInStatefulSets
	Deployments
	DaemonSets
	RolloutTraits
	MetricTemplates
	Applications
	ApplicationRevisions
	AppRollouts
	ComponentDefinitions
	TraitDefinitions
	Services
	Autoscalers
	kinds // their number
)

// shape is what the server must know of a kind.
type shape struct {
	kind     schema.GroupKind
	resource string
	object   reflect.Type
	list     reflect.Type
	// empty is a new object, copied a deep copy into another, and alias a shallow one.
	empty         func() client.Object
	copied, alias func(dst, src client.Object)
	fill          func(list client.ObjectList, objects []client.Object, shared bool)
}

// pointer is what a pointer to an API object can do.
type pointer[T any] interface {
	*T
	client.Object
	DeepCopyInto(into *T)
}

// of is the shape of a kind with its types; items finds the objects of a list.
func of[T, L any, P pointer[T]](group, kind, resource string, items func(*L) *[]T) shape {
	typed := func(o client.Object) P { return o.(P) }
	return shape{
		kind: schema.GroupKind{Group: group, Kind: kind}, resource: resource, object: reflect.TypeFor[*T](), list: reflect.TypeFor[*L](),
		empty:  func() client.Object { return P(new(T)) },
		copied: func(dst, src client.Object) { typed(src).DeepCopyInto(typed(dst)) },
		alias:  func(dst, src client.Object) { *typed(dst) = *typed(src) },
		fill: func(list client.ObjectList, objects []client.Object, shared bool) {
			filled := make([]T, len(objects))
			for i, o := range objects {
				if shared {
					filled[i] = *typed(o)
				} else {
					typed(o).DeepCopyInto(&filled[i])
				}
			}
			*items(any(list).(*L)) = filled
		},
	}
}

var shapes = [kinds]shape{
	CloneSets: of(kruisev1alpha1.GroupVersion.Group, kruisev1alpha1.CloneSetKind, "clonesets", func(l *kruisev1alpha1.CloneSetList) *[]kruisev1alpha1.CloneSet { return &l.Items }),
	Revisions: of(appsv1.GroupName, "ControllerRevision", "controllerrevisions", func(l *appsv1.ControllerRevisionList) *[]appsv1.ControllerRevision { return &l.Items }),
	Pods:      of("", "Pod", "pods", func(l *corev1.PodList) *[]corev1.Pod { return &l.Items }),
	Claims:    of("", "PersistentVolumeClaim", "persistentvolumeclaims", func(l *corev1.PersistentVolumeClaimList) *[]corev1.PersistentVolumeClaim { return &l.Items }),
	Nodes:     of("", "Node", "nodes", func(l *corev1.NodeList) *[]corev1.Node { return &l.Items }),
	StatefulSets: of(kruisev1beta1.GroupVersion.Group, kruisev1beta1.StatefulSetKind, "statefulsets",
		func(l *kruisev1beta1.StatefulSetList) *[]kruisev1beta1.StatefulSet { return &l.Items }),
	InPlaceSets: of(cafev1alpha1.GroupVersion.Group, cafev1alpha1.InPlaceSetKind, "inplacesets", func(l *cafev1alpha1.InPlaceSetList) *[]cafev1alpha1.InPlaceSet { return &l.Items }),
	CafeDeployments: of(cafev1alpha1.GroupVersion.Group, cafev1alpha1.CafeDeploymentKind, "cafedeployments",
		func(l *cafev1alpha1.CafeDeploymentList) *[]cafev1alpha1.CafeDeployment { return &l.Items }),
	ReplicaSets:         of(appsv1.GroupName, "ReplicaSet", "replicasets", func(l *appsv1.ReplicaSetList) *[]appsv1.ReplicaSet { return &l.Items }),
	BuiltInStatefulSets: of(appsv1.GroupName, "StatefulSet", "statefulsets", func(l *appsv1.StatefulSetList) *[]appsv1.StatefulSet { return &l.Items }),
	Deployments:         of(appsv1.GroupName, "Deployment", "deployments", func(l *appsv1.DeploymentList) *[]appsv1.Deployment { return &l.Items }),
	DaemonSets:          of(appsv1.GroupName, "DaemonSet", "daemonsets", func(l *appsv1.DaemonSetList) *[]appsv1.DaemonSet { return &l.Items }),
	RolloutTraits: of(rolloutv1alpha1.GroupVersion.Group, rolloutv1alpha1.RolloutTraitKind, "rollouttraits",
		func(l *rolloutv1alpha1.RolloutTraitList) *[]rolloutv1alpha1.RolloutTrait { return &l.Items }),
	MetricTemplates: of(rolloutv1alpha1.GroupVersion.Group, rolloutv1alpha1.MetricTemplateKind, "metrictemplates",
		func(l *rolloutv1alpha1.MetricTemplateList) *[]rolloutv1alpha1.MetricTemplate { return &l.Items }),
	Applications: of(oamv1beta1.GroupName, oamv1beta1.ApplicationKind, "applications", func(l *oamv1beta1.ApplicationList) *[]oamv1beta1.Application { return &l.Items }),
	ApplicationRevisions: of(oamv1beta1.GroupName, oamv1beta1.ApplicationRevisionKind, "applicationrevisions",
		func(l *oamv1beta1.ApplicationRevisionList) *[]oamv1beta1.ApplicationRevision { return &l.Items }),
	AppRollouts: of(oamv1beta1.GroupName, oamv1beta1.AppRolloutKind, "approllouts", func(l *oamv1beta1.AppRolloutList) *[]oamv1beta1.AppRollout { return &l.Items }),
	ComponentDefinitions: of(oamv1beta1.GroupName, oamv1beta1.ComponentDefinitionKind, "componentdefinitions",
		func(l *oamv1beta1.ComponentDefinitionList) *[]oamv1beta1.ComponentDefinition { return &l.Items }),
	TraitDefinitions: of(oamv1beta1.GroupName, oamv1beta1.TraitDefinitionKind, "traitdefinitions",
		func(l *oamv1beta1.TraitDefinitionList) *[]oamv1beta1.TraitDefinition { return &l.Items }),
	Services: of("", "Service", "services", func(l *corev1.ServiceList) *[]corev1.Service { return &l.Items }),
	Autoscalers: of(autoscalingv2.GroupName, "HorizontalPodAutoscaler", "horizontalpodautoscalers",
		func(l *autoscalingv2.HorizontalPodAutoscalerList) *[]autoscalingv2.HorizontalPodAutoscaler {
			return &l.Items
		}),
}

// divided are the kinds with a status that is written apart from the rest, and with a generation that counts their specs. Pods have rules
// of their own.
var divided = [kinds]bool{
	CloneSets: true, StatefulSets: true, InPlaceSets: true, CafeDeployments: true, ReplicaSets: true, BuiltInStatefulSets: true,
	Deployments: true, DaemonSets: true, RolloutTraits: true, Applications: true, AppRollouts: true,
}

// halves are the two parts of an object of such a kind, or of a pod.
func halves(o client.Object) (spec, status reflect.Value) {
	fields := reflect.ValueOf(o).Elem()
	return fields.FieldByName("Spec"), fields.FieldByName("Status")
}

func metaOf(o client.Object) *metav1.ObjectMeta {
	return o.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// byGroupKind finds the kind of an unstructured object.
var byGroupKind = func() map[schema.GroupKind]Kind {
	found := map[schema.GroupKind]Kind{}
	for _, k := range Kinds() {
		found[shapes[k].kind] = k
	}
	return found
}()

// byType finds the kind of an object or a list by its Go type.
var byType = func() map[reflect.Type]Kind {
	found := map[reflect.Type]Kind{}
	for _, k := range Kinds() {
		found[shapes[k].object], found[shapes[k].list] = k, k
	}
	return found
}()

// Kinds returns every kind, in a fixed order.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// String returns the plural resource name, with the group where two have the same.
func (k Kind) String() string {
	if k == BuiltInStatefulSets {
		return "statefulsets.apps"
	}
	return shapes[k].resource
}

func (k Kind) resource() schema.GroupResource {
	return schema.GroupResource{Group: shapes[k].kind.Group, Resource: shapes[k].resource}
}

func (k Kind) groupKind() schema.GroupKind { return shapes[k].kind }

// KindOf returns the kind of an object. It panics for one that the simulation does not store: that is a mistake of the test, not a
// state of the world.
func KindOf(obj client.Object) Kind { return kindOf(obj) }

func kindOfList(list client.ObjectList) Kind { return kindOf(list) }

func kindOf(o any) Kind {
	k, stored := byType[reflect.TypeOf(o)]
	switch loose := o.(type) {
	case *unstructured.Unstructured:
		k, stored = byGroupKind[loose.GroupVersionKind().GroupKind()]
	case *unstructured.UnstructuredList: // its kind may be that of its items
		id := loose.GroupVersionKind().GroupKind()
		k, stored = byGroupKind[schema.GroupKind{Group: id.Group, Kind: strings.TrimSuffix(id.Kind, "List")}]
	}
	if !stored {
		panic(fmt.Sprintf("the simulated API server does not store %T", o))
	}
	return k
}

// clone copies an object deeply, without the detour over runtime.Object.
func clone(obj client.Object) client.Object {
	copied := KindOf(obj).empty()
	assign(copied, obj)
	return copied
}

// assign makes dst a deep copy of src; both have the same type, or dst is unstructured.
func assign(dst, src client.Object) {
	loose, is := dst.(*unstructured.Unstructured)
	if !is {
		shapes[KindOf(dst)].copied(dst, src)
		return
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(src)
	if err != nil {
		panic(fmt.Sprintf("a stored object has no JSON form: %v", err))
	}
	id := loose.GroupVersionKind()
	loose.Object = content
	loose.SetGroupVersionKind(id)
}

// alias makes dst a shallow copy of src; both have the same type.
func alias(dst, src client.Object) { shapes[KindOf(dst)].alias(dst, src) }

// empty returns a new object of the kind.
func (k Kind) empty() client.Object { return shapes[k].empty() }

// fill puts the objects into a list. With shared, the items of a typed one alias the stored objects.
func fill(list client.ObjectList, objects []client.Object, shared bool) {
	if loose, is := list.(*unstructured.UnstructuredList); is {
		id := loose.GroupVersionKind()
		id.Kind = strings.TrimSuffix(id.Kind, "List")
		loose.Items = make([]unstructured.Unstructured, len(objects))
		for i, o := range objects {
			loose.Items[i].SetGroupVersionKind(id)
			assign(&loose.Items[i], o)
		}
		return
	}
	shapes[kindOfList(list)].fill(list, objects, shared)
}
