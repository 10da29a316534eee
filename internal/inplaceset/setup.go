// SPDX-License-Identifier: Apache-2.0

package inplaceset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/owned"
)

//+kubebuilder:rbac:groups=apps.cafe.cloud.alipay.com,resources=inplacesets,verbs=get;list;watch
//+kubebuilder:rbac:groups=apps.cafe.cloud.alipay.com,resources=inplacesets/status,verbs=patch
//+kubebuilder:rbac:groups=apps.cafe.cloud.alipay.com,resources=inplacesets/finalizers,verbs=update
//+kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
//+kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
//+kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;patch;delete

// owner is what an owner reference to an InPlaceSet names.
var owner = owned.By(cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind).GroupKind())

// Options tune the controller.
type Options struct {
	// Concurrency is how many sets are reconciled at once; 0 means one.
	Concurrency int
}

// SetupWithManager has the manager run the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, o Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("inplaceset").
		For(&cafev1alpha1.InPlaceSet{}, builder.WithPredicates(owned.Written())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(owner.Requests), builder.WithPredicates(owner.Changes())).
		Watches(&appsv1.ControllerRevision{}, handler.EnqueueRequestsFromMapFunc(owner.Requests), builder.WithPredicates(owner.Changes())).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrency}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the InPlaceSet controller: %w", err)
	}
	return nil
}
