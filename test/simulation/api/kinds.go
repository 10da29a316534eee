// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

// Kind is one of the kinds that this server stores.
type Kind int

// The kinds of the simulation, in the order in which they are reported.
const (
	CloneSets Kind = iota
	Revisions
	Pods
	Claims
	Nodes
	StatefulSets
	InPlaceSets
	kinds // their number
)

// Kinds returns every kind, in a fixed order.
func Kinds() []Kind {
	return []Kind{CloneSets, Revisions, Pods, Claims, Nodes, StatefulSets, InPlaceSets}
}

// String returns the plural resource name.
func (k Kind) String() string { return k.resource().Resource }

func (k Kind) resource() schema.GroupResource {
	switch k {
	case CloneSets:
		return schema.GroupResource{Group: kruisev1alpha1.GroupVersion.Group, Resource: "clonesets"}
	case Revisions:
		return schema.GroupResource{Group: appsv1.GroupName, Resource: "controllerrevisions"}
	case Pods:
		return schema.GroupResource{Resource: "pods"}
	case Claims:
		return schema.GroupResource{Resource: "persistentvolumeclaims"}
	case Nodes:
		return schema.GroupResource{Resource: "nodes"}
	case StatefulSets:
		return kruisev1beta1.Resource("statefulsets")
	case InPlaceSets:
		return cafev1alpha1.Resource("inplacesets")
	default:
		panic(fmt.Sprintf("no such kind: %d", int(k)))
	}
}

func (k Kind) groupKind() schema.GroupKind {
	switch k {
	case CloneSets:
		return schema.GroupKind{Group: kruisev1alpha1.GroupVersion.Group, Kind: "CloneSet"}
	case Revisions:
		return schema.GroupKind{Group: appsv1.GroupName, Kind: "ControllerRevision"}
	case Pods:
		return schema.GroupKind{Kind: "Pod"}
	case Claims:
		return schema.GroupKind{Kind: "PersistentVolumeClaim"}
	case Nodes:
		return schema.GroupKind{Kind: "Node"}
	case StatefulSets:
		return kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind).GroupKind()
	case InPlaceSets:
		return cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind).GroupKind()
	default:
		panic(fmt.Sprintf("no such kind: %d", int(k)))
	}
}

// KindOf returns the kind of a typed object. It panics for a type that the simulation does not store: that is a mistake
// of the test, not a state of the world.
func KindOf(obj client.Object) Kind {
	switch obj.(type) {
	case *kruisev1alpha1.CloneSet:
		return CloneSets
	case *appsv1.ControllerRevision:
		return Revisions
	case *corev1.Pod:
		return Pods
	case *corev1.PersistentVolumeClaim:
		return Claims
	case *corev1.Node:
		return Nodes
	case *kruisev1beta1.StatefulSet:
		return StatefulSets
	case *cafev1alpha1.InPlaceSet:
		return InPlaceSets
	default:
		panic(fmt.Sprintf("the simulated API server does not store %T", obj))
	}
}

// clone copies an object deeply, without the detour over runtime.Object.
func clone(obj client.Object) client.Object {
	switch o := obj.(type) {
	case *kruisev1alpha1.CloneSet:
		return o.DeepCopy()
	case *appsv1.ControllerRevision:
		return o.DeepCopy()
	case *corev1.Pod:
		return o.DeepCopy()
	case *corev1.PersistentVolumeClaim:
		return o.DeepCopy()
	case *corev1.Node:
		return o.DeepCopy()
	case *kruisev1beta1.StatefulSet:
		return o.DeepCopy()
	case *cafev1alpha1.InPlaceSet:
		return o.DeepCopy()
	default:
		panic(fmt.Sprintf("the simulated API server does not store %T", obj))
	}
}

// assign makes dst a deep copy of src; both have the same type.
func assign(dst, src client.Object) {
	switch d := dst.(type) {
	case *kruisev1alpha1.CloneSet:
		src.(*kruisev1alpha1.CloneSet).DeepCopyInto(d)
	case *appsv1.ControllerRevision:
		src.(*appsv1.ControllerRevision).DeepCopyInto(d)
	case *corev1.Pod:
		src.(*corev1.Pod).DeepCopyInto(d)
	case *corev1.PersistentVolumeClaim:
		src.(*corev1.PersistentVolumeClaim).DeepCopyInto(d)
	case *corev1.Node:
		src.(*corev1.Node).DeepCopyInto(d)
	case *kruisev1beta1.StatefulSet:
		src.(*kruisev1beta1.StatefulSet).DeepCopyInto(d)
	case *cafev1alpha1.InPlaceSet:
		src.(*cafev1alpha1.InPlaceSet).DeepCopyInto(d)
	default:
		panic(fmt.Sprintf("the simulated API server does not store %T", dst))
	}
}

// alias makes dst a shallow copy of src; both have the same type.
func alias(dst, src client.Object) {
	switch d := dst.(type) {
	case *kruisev1alpha1.CloneSet:
		*d = *src.(*kruisev1alpha1.CloneSet)
	case *appsv1.ControllerRevision:
		*d = *src.(*appsv1.ControllerRevision)
	case *corev1.Pod:
		*d = *src.(*corev1.Pod)
	case *corev1.PersistentVolumeClaim:
		*d = *src.(*corev1.PersistentVolumeClaim)
	case *corev1.Node:
		*d = *src.(*corev1.Node)
	case *kruisev1beta1.StatefulSet:
		*d = *src.(*kruisev1beta1.StatefulSet)
	case *cafev1alpha1.InPlaceSet:
		*d = *src.(*cafev1alpha1.InPlaceSet)
	default:
		panic(fmt.Sprintf("the simulated API server does not store %T", dst))
	}
}

// empty returns a new object of the kind.
func (k Kind) empty() client.Object {
	switch k {
	case CloneSets:
		return &kruisev1alpha1.CloneSet{}
	case Revisions:
		return &appsv1.ControllerRevision{}
	case Pods:
		return &corev1.Pod{}
	case Claims:
		return &corev1.PersistentVolumeClaim{}
	case Nodes:
		return &corev1.Node{}
	case StatefulSets:
		return &kruisev1beta1.StatefulSet{}
	case InPlaceSets:
		return &cafev1alpha1.InPlaceSet{}
	default:
		panic(fmt.Sprintf("no such kind: %d", int(k)))
	}
}

// fill puts the objects into a typed list. With shared, the items alias the stored objects.
func fill(list client.ObjectList, objects []client.Object, shared bool) {
	pick := func(o client.Object) client.Object {
		if shared {
			return o
		}
		return clone(o)
	}
	switch l := list.(type) {
	case *kruisev1alpha1.CloneSetList:
		l.Items = make([]kruisev1alpha1.CloneSet, 0, len(objects))
		for _, o := range objects {
			l.Items = append(l.Items, *pick(o).(*kruisev1alpha1.CloneSet))
		}
	case *appsv1.ControllerRevisionList:
		l.Items = make([]appsv1.ControllerRevision, 0, len(objects))
		for _, o := range objects {
			l.Items = append(l.Items, *pick(o).(*appsv1.ControllerRevision))
		}
	case *corev1.PodList:
		l.Items = make([]corev1.Pod, 0, len(objects))
		for _, o := range objects {
			l.Items = append(l.Items, *pick(o).(*corev1.Pod))
		}
	case *corev1.PersistentVolumeClaimList:
		l.Items = make([]corev1.PersistentVolumeClaim, 0, len(objects))
		for _, o := range objects {
			l.Items = append(l.Items, *pick(o).(*corev1.PersistentVolumeClaim))
		}
	case *corev1.NodeList:
		l.Items = make([]corev1.Node, 0, len(objects))
		for _, o := range objects {
			l.Items = append(l.Items, *pick(o).(*corev1.Node))
		}
	case *kruisev1beta1.StatefulSetList:
		l.Items = make([]kruisev1beta1.StatefulSet, 0, len(objects))
		for _, o := range objects {
			l.Items = append(l.Items, *pick(o).(*kruisev1beta1.StatefulSet))
		}
	case *cafev1alpha1.InPlaceSetList:
		l.Items = make([]cafev1alpha1.InPlaceSet, 0, len(objects))
		for _, o := range objects {
			l.Items = append(l.Items, *pick(o).(*cafev1alpha1.InPlaceSet))
		}
	default:
		panic(fmt.Sprintf("the simulated API server does not list %T", list))
	}
}

func kindOfList(list client.ObjectList) Kind {
	switch list.(type) {
	case *kruisev1alpha1.CloneSetList:
		return CloneSets
	case *appsv1.ControllerRevisionList:
		return Revisions
	case *corev1.PodList:
		return Pods
	case *corev1.PersistentVolumeClaimList:
		return Claims
	case *corev1.NodeList:
		return Nodes
	case *kruisev1beta1.StatefulSetList:
		return StatefulSets
	case *cafev1alpha1.InPlaceSetList:
		return InPlaceSets
	default:
		panic(fmt.Sprintf("the simulated API server does not list %T", list))
	}
}
