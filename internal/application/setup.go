// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/revision"
	"slipway.dev/slipway/internal/owned"
)

// What is deployed needs rights of its own: see package rolling.
//
//+kubebuilder:rbac:groups=core.oam.dev,resources=applications,verbs=list;watch;patch
//+kubebuilder:rbac:groups=core.oam.dev,resources=applications/status,verbs=patch
//+kubebuilder:rbac:groups=core.oam.dev,resources=applications/finalizers,verbs=update
//+kubebuilder:rbac:groups=core.oam.dev,resources=componentdefinitions;traitdefinitions,verbs=list;watch
//+kubebuilder:rbac:groups=core.oam.dev,resources=applicationrevisions,verbs=get;list;create;delete
//+kubebuilder:rbac:groups=core.oam.dev,resources=approllouts,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;create;delete

// Options tune the controller.
type Options struct {
	// Concurrency is how many applications are reconciled at once; 0 means one.
	Concurrency int
	// Deployed shows the metadata of objects that carry oamv1beta1.LabelAppName, and of no others.
	Deployed cache.Cache
}

// SetupWithManager has the manager run the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, o Options) error {
	mine := owned.By(oamv1beta1.GroupVersion.WithKind(oamv1beta1.ApplicationKind).GroupKind())
	users := handler.EnqueueRequestsFromMapFunc(r.users)
	built, err := ctrl.NewControllerManagedBy(mgr).
		Named("application").
		For(&oamv1beta1.Application{}, builder.WithPredicates(owned.Written())).
		Watches(&oamv1beta1.AppRollout{}, handler.EnqueueRequestsFromMapFunc(mine.Requests), builder.WithPredicates(mine.Changes())).
		Watches(&oamv1beta1.ComponentDefinition{}, users, builder.WithPredicates(owned.Written())).
		Watches(&oamv1beta1.TraitDefinition{}, users, builder.WithPredicates(owned.Written())).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrency}).
		Build(r)
	if err != nil {
		return fmt.Errorf("setting up the Application controller: %w", err)
	}
	r.watches.Begin(o.Deployed, built)
	return nil
}

// users ask to look at the applications that name a definition. One in the system namespace is for all of them.
func (r *Reconciler) users(ctx context.Context, definition client.Object) []reconcile.Request {
	where := &client.ListOptions{}
	if definition.GetNamespace() != r.SystemNamespace {
		where.Namespace = definition.GetNamespace()
	}
	list := &oamv1beta1.ApplicationList{}
	if err := r.Cache.List(ctx, list, where, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing applications that use a definition", "definition", definition.GetName())
		return nil
	}
	_, isTrait := definition.(*oamv1beta1.TraitDefinition)
	var requests []reconcile.Request
	for i := range list.Items {
		components, traits := revision.Uses(&list.Items[i])
		names := components
		if isTrait {
			names = traits
		}
		for _, name := range names {
			if name == definition.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name}})
			}
		}
	}
	return requests
}
