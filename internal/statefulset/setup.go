// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/ordinal"
	"slipway.dev/slipway/internal/owned"
)

//+kubebuilder:rbac:groups=apps.kruise.io,resources=statefulsets,verbs=get;list;watch
//+kubebuilder:rbac:groups=apps.kruise.io,resources=statefulsets/status,verbs=patch
//+kubebuilder:rbac:groups=apps.kruise.io,resources=statefulsets/finalizers,verbs=update
//+kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
//+kubebuilder:rbac:groups="",resources=pods/resize,verbs=patch
//+kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch
//+kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=list;watch

// owner is what an owner reference to a StatefulSet of this group names.
var owner = owned.By(kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind).GroupKind())

// Options tune the controller.
type Options struct {
	// Concurrency is how many sets are reconciled at once; 0 means one.
	Concurrency int
}

// SetupWithManager has the manager run the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, o Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("statefulset").
		For(&kruisev1beta1.StatefulSet{}, builder.WithPredicates(owned.Written())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(podRequests), builder.WithPredicates(owned.ChangesOf(concernsASet))).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(r.claimRequests), builder.WithPredicates(owned.Written())).
		Watches(&storagev1.StorageClass{}, handler.EnqueueRequestsFromMapFunc(r.classRequests), builder.WithPredicates(owned.Written())).
		Watches(&appsv1.ControllerRevision{}, handler.EnqueueRequestsFromMapFunc(owner.Requests), builder.WithPredicates(owner.Changes())).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrency}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the StatefulSet controller: %w", err)
	}
	return nil
}

func concernsASet(object client.Object) bool {
	_, concerns := setOf(object)
	return concerns
}

// setOf names the set that controls a pod or, when nobody does, the one that could adopt it: by its name.
func setOf(object client.Object) (types.NamespacedName, bool) {
	if name, controlled := owner.Owner(object); controlled {
		return name, true
	}
	if metav1.GetControllerOfNoCopy(object) != nil {
		return types.NamespacedName{}, false
	}
	set, numbered := ordinal.SetOf(object.GetName())
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: set}, numbered
}

func podRequests(_ context.Context, object client.Object) []reconcile.Request {
	if name, concerns := setOf(object); concerns {
		return []reconcile.Request{{NamespacedName: name}}
	}
	return nil
}

// claimRequests ask to look at the sets that a claim is for. That stands in an annotation once the set has resized it,
// in its owner references when it is to go with the set or a pod, and otherwise only in its name.
func (r *Reconciler) claimRequests(ctx context.Context, object client.Object) []reconcile.Request {
	names := map[string]bool{}
	if set := object.GetAnnotations()[kruisev1beta1.AnnotationOwnedByStatefulSet]; set != "" {
		names[set] = true
	}
	for _, reference := range object.GetOwnerReferences() {
		if owner.Is(&reference) {
			names[reference.Name] = true
		}
	}
	if behind, numbered := ordinal.SetOf(object.GetName()); numbered {
		for hyphen := true; hyphen; { // a template, a hyphen, and the set; there may be hyphens in both
			if _, behind, hyphen = strings.Cut(behind, "-"); hyphen {
				names[behind] = true
			}
		}
	}
	var requests []reconcile.Request
	for name := range names {
		key := types.NamespacedName{Namespace: object.GetNamespace(), Name: name}
		if r.Cache.Get(ctx, key, &kruisev1beta1.StatefulSet{}, client.UnsafeDisableDeepCopy) == nil {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
	}
	return requests
}

// classRequests ask to look at the sets whose claims follow their templates: a claim may be waiting for a class that lets
// volumes grow.
func (r *Reconciler) classRequests(ctx context.Context, _ client.Object) []reconcile.Request {
	var sets kruisev1beta1.StatefulSetList
	if err := r.Cache.List(ctx, &sets, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "the sets whose claims could grow now are not looked at: listing them")
		return nil
	}
	var requests []reconcile.Request
	for i := range sets.Items {
		if resizes(&sets.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sets.Items[i])})
		}
	}
	return requests
}

// resizes tells whether the claims of a set follow their templates.
func resizes(set *kruisev1beta1.StatefulSet) bool {
	return set.Spec.VolumeClaimUpdateStrategy.Type == kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
}
