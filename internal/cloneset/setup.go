// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

//+kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets,verbs=get;list;watch;patch
//+kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets/status,verbs=patch
//+kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets/finalizers,verbs=update
//+kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
//+kubebuilder:rbac:groups="",resources=pods/resize,verbs=patch
//+kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
//+kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;patch;delete

const (
	// OwnerIndex is the cache index of pods, claims and revisions by the UID of their controller.
	OwnerIndex = "slipway.dev/owner"
	// noOwner is the value of the index for objects without a controller.
	noOwner = "orphan"
)

// AddIndexes teaches a cache the index that the controller lists by.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, object := range []client.Object{&corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &appsv1.ControllerRevision{}} {
		if err := indexer.IndexField(ctx, object, OwnerIndex, OwnerOf); err != nil {
			return fmt.Errorf("indexing %T by owner: %w", object, err)
		}
	}
	return nil
}

// OwnerOf is the value of OwnerIndex for an object.
func OwnerOf(object client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return []string{string(owner.UID)}
	}
	if _, isRevision := object.(*appsv1.ControllerRevision); isRevision {
		return []string{noOwner}
	}
	return nil // nothing else is ever adopted
}

// Options tune the controller.
type Options struct {
	// Concurrency is how many sets are reconciled at once; 0 means one.
	Concurrency int
}

// SetupWithManager has the manager run the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, o Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("cloneset").
		For(&kruisev1alpha1.CloneSet{}, builder.WithPredicates(written())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ownerRequest), builder.WithPredicates(owned())).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(ownerRequest), builder.WithPredicates(owned())).
		Watches(&appsv1.ControllerRevision{}, handler.EnqueueRequestsFromMapFunc(ownerRequest), builder.WithPredicates(owned())).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrency}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the CloneSet controller: %w", err)
	}
	return nil
}

// ownerOf names the set that controls a pod, claim or revision. Other publishers of this API write other
// versions of it into owner references, so only group and kind count.
func ownerOf(object client.Object) (types.NamespacedName, bool) {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil || owner.Kind != "CloneSet" {
		return types.NamespacedName{}, false
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil || version.Group != kruisev1alpha1.GroupVersion.Group {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: owner.Name}, true
}

func ownerRequest(_ context.Context, object client.Object) []reconcile.Request {
	if name, owned := ownerOf(object); owned {
		return []reconcile.Request{{NamespacedName: name}}
	}
	return nil
}

// owned keeps objects of others, and resyncs, away from the queue. An old and a new owner both count: a
// pod that was given away is one less.
func owned() predicate.Predicate {
	has := func(object client.Object) bool {
		_, owned := ownerOf(object)
		return owned
	}
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return has(e.Object) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return has(e.Object) },
		GenericFunc: func(e event.GenericEvent) bool { return has(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return changed(e) && (has(e.ObjectOld) || has(e.ObjectNew))
		},
	}
}

// written lets every change through, the status included: our own status patch has to be seen before the
// next decision. Resyncs are left out.
func written() predicate.Predicate { return predicate.Funcs{UpdateFunc: changed} }

func changed(e event.UpdateEvent) bool {
	return e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
}
