// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// managedBy on an EndpointSlice says that this program keeps it.
const managedBy = "traffic-component.slipway.dev"

// Component follows InPlaceSets.
type Component struct {
	client client.Client
	clock  clock.PassiveClock
	// name of the component, as sets declare it.
	name string
	// delay is how long connections get to end.
	delay time.Duration
	// service is the Service that gets the backends, empty for none; port is where they listen.
	service string
	port    int32

	mu sync.Mutex
	// left is since when pods are out of the backends.
	left map[types.UID]time.Time
}

func (c *Component) finalizer() string { return cafev1alpha1.FinalizerPrefixTraffic + c.name }

// Reconcile looks at one InPlaceSet, also at one that is gone: its last pods have to be let go of.
func (c *Component) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	set := &cafev1alpha1.InPlaceSet{}
	if err := c.client.Get(ctx, request.NamespacedName, set); apierrors.IsNotFound(err) {
		set = nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading InPlaceSet %s: %w", request, err)
	}
	pods, err := c.pods(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := c.clock.Now()
	decisions := make([]Decision, len(pods))
	declared := set != nil && set.DeletionTimestamp == nil && declares(set, c.name)
	var failures []error
	for i, p := range pods {
		decisions[i] = Next(p, c.finalizer(), declared, c.since(p.UID), c.delay, now)
		// A pod is protected before it gets traffic, and not the other way around.
		if decisions[i].Finalizer && !controllerutil.ContainsFinalizer(p, c.finalizer()) {
			if err := c.patch(ctx, p, controllerutil.AddFinalizer); err != nil {
				decisions[i].Backend = false
				failures = append(failures, err)
			}
		}
	}
	if err := c.publish(ctx, request.NamespacedName, set, pods, decisions); err != nil {
		return ctrl.Result{}, errors.Join(append(failures, err)...) // nobody is let go of while traffic may still go there
	}
	wait := time.Duration(0)
	for i, p := range pods {
		c.remember(p.UID, decisions[i], now)
		if d := decisions[i].Wait; d > 0 && (wait == 0 || d < wait) {
			wait = d
		}
		if !decisions[i].Finalizer && controllerutil.ContainsFinalizer(p, c.finalizer()) {
			failures = append(failures, c.patch(ctx, p, controllerutil.RemoveFinalizer))
		}
	}
	return ctrl.Result{RequeueAfter: wait}, errors.Join(failures...)
}

// pods are those of the set, by the name of their controller, since the set may be gone.
func (c *Component) pods(ctx context.Context, of types.NamespacedName) ([]*corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := c.client.List(ctx, list, client.InNamespace(of.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the pods of InPlaceSet %s: %w", of, err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if name, is := setOf(&list.Items[i]); is && name == of.Name {
			pods = append(pods, &list.Items[i])
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods, nil
}

// setOf is the InPlaceSet that controls an object.
func setOf(o client.Object) (string, bool) {
	owner := metav1.GetControllerOf(o)
	if owner == nil || owner.Kind != cafev1alpha1.InPlaceSetKind || !strings.HasPrefix(owner.APIVersion, cafev1alpha1.GroupName+"/") {
		return "", false
	}
	return owner.Name, true
}

func declares(set *cafev1alpha1.InPlaceSet, component string) bool {
	return slices.ContainsFunc(strings.Split(set.Annotations[cafev1alpha1.AnnotationTrafficComponents], ","),
		func(name string) bool { return strings.TrimSpace(name) == component })
}

func (c *Component) since(pod types.UID) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left[pod]
}

// remember notes when a pod has left the backends, and forgets it when it is back or done with.
func (c *Component) remember(pod types.UID, d Decision, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case d.Backend || !d.Finalizer:
		delete(c.left, pod)
	case c.left[pod].IsZero() && d.Wait > 0:
		c.left[pod] = now
	}
}

// patch adds or removes the finalizer, on the condition that nobody has changed the pod's finalizers meanwhile.
func (c *Component) patch(ctx context.Context, p *corev1.Pod, change func(client.Object, string) bool) error {
	before := p.DeepCopy()
	change(p, c.finalizer())
	if err := c.client.Patch(ctx, p, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("changing the finalizers of pod %s: %w", p.Name, err)
	}
	return nil
}

// publish writes the backends. Without a set and without backends there is nothing to keep.
func (c *Component) publish(ctx context.Context, of types.NamespacedName, set *cafev1alpha1.InPlaceSet, pods []*corev1.Pod, decisions []Decision) error {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name + "-" + c.name}}
	err := c.client.Get(ctx, client.ObjectKeyFromObject(slice), slice)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return fmt.Errorf("reading EndpointSlice %s: %w", slice.Name, err)
	}
	endpoints := backends(pods, decisions)
	if absent && len(endpoints) == 0 || equality.Semantic.DeepEqual(slice.Endpoints, endpoints) {
		return nil
	}
	if absent {
		slice.AddressType = discoveryv1.AddressTypeIPv4
		slice.Ports = []discoveryv1.EndpointPort{{Name: ptr.To(""), Port: &c.port, Protocol: ptr.To(corev1.ProtocolTCP)}}
		slice.Labels = map[string]string{discoveryv1.LabelManagedBy: managedBy}
		if c.service != "" {
			slice.Labels[discoveryv1.LabelServiceName] = c.service
		}
		if set != nil {
			slice.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: cafev1alpha1.GroupVersion.String(), Kind: cafev1alpha1.InPlaceSetKind, Name: set.Name, UID: set.UID,
			}}
		}
		slice.Endpoints = endpoints
		if err := c.client.Create(ctx, slice); err != nil {
			return fmt.Errorf("creating EndpointSlice %s: %w", slice.Name, err)
		}
		return nil
	}
	slice.Endpoints = endpoints
	if err := c.client.Update(ctx, slice); err != nil {
		return fmt.Errorf("writing EndpointSlice %s: %w", slice.Name, err)
	}
	return nil
}

func backends(pods []*corev1.Pod, decisions []Decision) []discoveryv1.Endpoint {
	var endpoints []discoveryv1.Endpoint
	for i, p := range pods {
		if decisions[i].Backend {
			endpoints = append(endpoints, discoveryv1.Endpoint{
				Addresses: []string{p.Status.PodIP}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(isTrue(p, corev1.PodReady))},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
			})
		}
	}
	return endpoints
}
