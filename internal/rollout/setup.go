// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"slipway.dev/slipway/internal/owned"
)

// Secrets of metric templates are not among these: who uses them gives the right to read them, in their namespace.
//
// No workload is ever deleted. But the API server can want the right to (OwnerReferencesPermissionEnforcement) of who gives an
// owner to an object that is there.
//
//+kubebuilder:rbac:groups=standard.oam.dev,resources=rollouttraits,verbs=get;list;watch;patch
//+kubebuilder:rbac:groups=standard.oam.dev,resources=rollouttraits/status,verbs=patch
//+kubebuilder:rbac:groups=standard.oam.dev,resources=metrictemplates,verbs=get
//+kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=get;list;watch;patch;delete
//+kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list
//+kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets;statefulsets,verbs=get;list;watch;patch;delete
//+kubebuilder:rbac:groups=apps.cafe.cloud.alipay.com,resources=inplacesets;cafedeployments,verbs=get;list;watch;patch;delete
//+kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get
//+kubebuilder:rbac:groups="",resources=pods,verbs=list;delete

// Options tune the controller.
type Options struct {
	// Concurrency is how many rollouts are reconciled at once; 0 means one.
	Concurrency int
	// Held shows the metadata of workloads that carry LabelHeld, and of no others.
	Held cache.Cache
}

// SetupWithManager has the manager run the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, o Options) error {
	built, err := ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(r.kind.ID().Kind)).
		For(r.kind.New(), builder.WithPredicates(owned.Written())).
		WatchesRawSource(r.Errands.Hooks.Source()).
		WatchesRawSource(r.Errands.Metrics.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrency}).
		Build(r)
	if err != nil {
		return fmt.Errorf("setting up the %s controller: %w", r.kind.ID().Kind, err)
	}
	r.watches.Begin(o.Held, built)
	if err := errors.Join(mgr.Add(r.Errands.Hooks), mgr.Add(r.Errands.Metrics)); err != nil {
		return fmt.Errorf("having the manager run errands: %w", err)
	}
	return nil
}
