// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/podset"
	"slipway.dev/slipway/internal/freshness"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/pod"
)

//+kubebuilder:rbac:groups=apps.cafe.cloud.alipay.com,resources=cafedeployments,verbs=get;list;watch;patch
//+kubebuilder:rbac:groups=apps.cafe.cloud.alipay.com,resources=cafedeployments/status,verbs=patch
//+kubebuilder:rbac:groups=apps.cafe.cloud.alipay.com,resources=cafedeployments/finalizers,verbs=update
//+kubebuilder:rbac:groups=apps.cafe.cloud.alipay.com,resources=inplacesets,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets;statefulsets,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups=apps,resources=replicasets;statefulsets,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;patch;delete
//+kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch

// owner is what an owner reference to a CafeDeployment names.
var owner = owned.By(cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.CafeDeploymentKind).GroupKind())

// Options tune the controller.
type Options struct {
	// Concurrency is how many deployments are reconciled at once; 0 means one.
	Concurrency int
}

// Owned are empty objects of the kinds that a CafeDeployment can own, besides those that all kinds do. The cache needs
// an index of each.
func Owned() []client.Object {
	var objects []client.Object
	for _, kind := range podset.All() {
		objects = append(objects, kind.New())
	}
	return objects
}

// SetupWithManager has the manager run the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, o Options) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("cafedeployment").
		For(&cafev1alpha1.CafeDeployment{}, builder.WithPredicates(owned.Written())).
		Watches(&appsv1.ControllerRevision{}, handler.EnqueueRequestsFromMapFunc(owner.Requests), builder.WithPredicates(owner.Changes())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.podRequests), builder.WithPredicates(podChanges())).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrency})
	for _, set := range Owned() {
		b = b.Watches(set, handler.EnqueueRequestsFromMapFunc(owner.Requests), builder.WithPredicates(owner.Changes()))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("setting up the CafeDeployment controller: %w", err)
	}
	return nil
}

// podChanges lets pods through of which something has changed that is looked at.
func podChanges() predicate.Predicate {
	matters := func(object client.Object) bool { return lookedAt(object) != podLook{} }
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return matters(e.Object) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return matters(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return lookedAt(e.ObjectOld) != lookedAt(e.ObjectNew) },
	}
}

// podLook is what a deployment looks at of a pod: whether it finds no node, and where ordinals count, which version it has and whether that
// is ready. The rest is told by the sets. They may tell of a pod before the cache shows it, and then nobody would look again.
type podLook struct {
	findsNoNode, counts, active, ready bool
	revision                           string
}

func lookedAt(object client.Object) podLook {
	p, is := object.(*corev1.Pod)
	if !is {
		return podLook{}
	}
	if _, ours := p.Labels[cafev1alpha1.LabelUnit]; !ours {
		return podLook{}
	}
	seen := podLook{findsNoNode: podset.FindsNoNode(p)}
	if podset.OfOrdinals(p) {
		seen.counts, seen.active, seen.ready, seen.revision = true, pod.IsActive(p), pod.IsReady(p), pod.RevisionHash(p)
	}
	return seen
}

// podRequests ask to look at the deployment whose pod set keeps a pod.
func (r *Reconciler) podRequests(ctx context.Context, object client.Object) []reconcile.Request {
	reference := metav1.GetControllerOfNoCopy(object)
	if _, ours := object.GetLabels()[cafev1alpha1.LabelUnit]; !ours || reference == nil {
		return nil
	}
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	if err != nil {
		return nil
	}
	for _, kind := range Owned() {
		gvk, err := r.Client.GroupVersionKindFor(kind)
		if err != nil || gvk.Kind != reference.Kind || gvk.Group != version.Group {
			continue
		}
		set := freshness.EmptyLike(kind)
		key := client.ObjectKey{Namespace: object.GetNamespace(), Name: reference.Name}
		if r.Cache.Get(ctx, key, set, client.UnsafeDisableDeepCopy) != nil || set.GetUID() != reference.UID {
			return nil
		}
		return owner.Requests(ctx, set)
	}
	return nil
}
