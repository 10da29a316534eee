// SPDX-License-Identifier: Apache-2.0

package cafes

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/tree"
	"slipway.dev/slipway/internal/pod"
)

// Kind reads CafeDeployments and what belongs to them.
type Kind struct{}

// Name is the kind as people write it.
func (Kind) Name() string { return cafev1alpha1.CafeDeploymentKind }

// GroupVersionKind is the kind in full.
func (Kind) GroupVersionKind() schema.GroupVersionKind {
	return cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.CafeDeploymentKind)
}

// Reads are the resources that are read besides the deployments.
func (Kind) Reads() []string { return []string{"pods", "the pod sets of the units"} }

// Table lays many deployments out.
func (Kind) Table(views []sets.View, namespaces, wide bool) ([]tree.Column, []tree.Node) {
	return sets.Table(views, namespaces, wide)
}

// podSetKind is the kind of the pod sets.
func podSetKind(t cafev1alpha1.PodSetType) schema.GroupVersionKind {
	switch t {
	case cafev1alpha1.ReplicaSetPodSetType:
		return appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	case cafev1alpha1.StatefulSetPodSetType:
		return appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	case cafev1alpha1.CloneSetPodSetType:
		return kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind)
	case cafev1alpha1.AdvancedStatefulSetPodSetType:
		return kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind)
	case cafev1alpha1.InPlaceSetPodSetType:
	}
	return cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind)
}

func podSetList(t cafev1alpha1.PodSetType) *unstructured.UnstructuredList {
	kind := podSetKind(t)
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// Read takes one snapshot of a deployment. It needs get of the deployment, and list of its pod sets and of pods.
func (k Kind) Read(ctx context.Context, c client.Reader, key types.NamespacedName) (Snapshot, error) {
	d, theirs, err := k.get(ctx, c, key)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Deployment: d}
	podSets := podSetList(d.Spec.PodSetType)
	if err := c.List(ctx, podSets, client.InNamespace(key.Namespace)); err != nil {
		return Snapshot{}, fmt.Errorf("listing pod sets: %w", err)
	}
	for i := range podSets.Items {
		s.Sets = append(s.Sets, &podSets.Items[i])
	}
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: theirs}); err != nil {
		return Snapshot{}, fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		s.Pods = append(s.Pods, &pods.Items[i])
	}
	return s, nil
}

func (Kind) get(ctx context.Context, c client.Reader, key types.NamespacedName) (*cafev1alpha1.CafeDeployment, labels.Selector, error) {
	d := &cafev1alpha1.CafeDeployment{}
	if err := c.Get(ctx, key, d); err != nil {
		return nil, nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the selector of CafeDeployment %s: %w", key, err)
	}
	return d, selector, nil
}

// Look reads one deployment and looks at it.
func (k Kind) Look(ctx context.Context, c client.Reader, key types.NamespacedName, now time.Time) (sets.View, error) {
	s, err := k.Read(ctx, c, key)
	if err != nil {
		return sets.View{}, err
	}
	return NewView(s, now), nil
}

// List looks at many deployments.
func (Kind) List(ctx context.Context, c client.Reader, now time.Time, options ...client.ListOption) ([]sets.View, error) {
	list := &cafev1alpha1.CafeDeploymentList{}
	if err := c.List(ctx, list, options...); err != nil {
		return nil, err
	}
	views := make([]sets.View, 0, len(list.Items))
	for i := range list.Items {
		views = append(views, NewSummary(&list.Items[i], now))
	}
	return views, nil
}

// WatchAll follows many deployments until the context ends. The first function looks at them, the second says what keeps
// them from being followed at the moment.
func (Kind) WatchAll(
	ctx context.Context, c client.WithWatch, options feed.Options, changed feed.Signal,
) (func(time.Time) []sets.View, func() error, error) {
	followed, err := deployments(ctx, c, options, changed)
	if err != nil {
		return nil, nil, fmt.Errorf("following the CafeDeployments: %w", err)
	}
	return func(now time.Time) []sets.View {
		var views []sets.View
		for _, d := range followed.Items() {
			views = append(views, NewSummary(d, now))
		}
		return views
	}, followed.Err, nil
}

func deployments(ctx context.Context, c client.WithWatch, options feed.Options, changed feed.Signal) (*feed.Feed[*cafev1alpha1.CafeDeployment], error) {
	return feed.Start(ctx, c, &cafev1alpha1.CafeDeployment{}, func() client.ObjectList { return &cafev1alpha1.CafeDeploymentList{} }, options, changed)
}

// Watch follows one deployment until the context ends; see Follow.
func (k Kind) Watch(ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal) (sets.Source, error) {
	return k.Follow(ctx, c, key, changed, nil)
}

// Watch follows one deployment and what belongs to it.
type Watch struct {
	uid         types.UID
	deployments *feed.Feed[*cafev1alpha1.CafeDeployment]
	sets        *feed.Feed[*unstructured.Unstructured]
	pods        *feed.Feed[*corev1.Pod]
}

// Follow starts to follow a deployment until the context ends, and gives changed whenever something did. seenPod, which may
// be nil, is called with every state of every pod that its selector matches. It needs get, list and watch of the deployment, and
// list and watch of its pod sets and of pods.
func (k Kind) Follow(
	ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal, seenPod func(p *corev1.Pod, removed bool),
) (*Watch, error) {
	d, theirs, err := k.get(ctx, c, key)
	if err != nil {
		return nil, err
	}
	w := &Watch{uid: d.UID}
	if w.deployments, err = deployments(ctx, c,
		feed.Options{Namespace: key.Namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name)}, changed); err != nil {
		return nil, fmt.Errorf("following CafeDeployment %s: %w", key, err)
	}
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(podSetKind(d.Spec.PodSetType))
	if w.sets, err = feed.Start(ctx, c, example, func() client.ObjectList { return podSetList(d.Spec.PodSetType) },
		feed.Options{Namespace: key.Namespace}, changed); err != nil {
		return nil, fmt.Errorf("following the pod sets of CafeDeployment %s: %w", key, err)
	}
	pods := feed.Options{Namespace: key.Namespace, LabelSelector: theirs}
	if seenPod != nil {
		pods.Seen = func(object client.Object, removed bool) {
			if p, ok := object.(*corev1.Pod); ok {
				seenPod(p, removed)
			}
		}
	}
	if w.pods, err = feed.Start(ctx, c, &corev1.Pod{}, func() client.ObjectList { return &corev1.PodList{} }, pods, changed); err != nil {
		return nil, fmt.Errorf("following the pods of CafeDeployment %s: %w", key, err)
	}
	return w, nil
}

// Snapshot is the newest known state. The error is sets.ErrGone, also when another deployment has the name by now.
func (w *Watch) Snapshot() (Snapshot, error) {
	for _, d := range w.deployments.Items() {
		if d.UID == w.uid {
			return Snapshot{Deployment: d, Sets: w.sets.Items(), Pods: w.pods.Items()}, nil
		}
	}
	return Snapshot{}, fmt.Errorf("the CafeDeployment %w", sets.ErrGone)
}

// View looks at the newest known state. The error is sets.ErrGone.
func (w *Watch) View(now time.Time) (sets.View, error) {
	s, err := w.Snapshot()
	if err != nil {
		return sets.View{}, err
	}
	return NewView(s, now), nil
}

// Pods are the pods of all units as they are known now. The error is sets.ErrGone.
func (w *Watch) Pods() ([]*corev1.Pod, error) {
	s, err := w.Snapshot()
	if err != nil {
		return nil, err
	}
	own := s.own()
	var pods []*corev1.Pod
	for _, p := range s.Pods {
		if own[pod.ControllerOf(p)] != nil {
			pods = append(pods, p)
		}
	}
	return pods, nil
}

// Err is what keeps the watch from following at the moment; it tries on.
func (w *Watch) Err() error {
	for _, err := range []error{w.deployments.Err(), w.sets.Err(), w.pods.Err()} {
		if err != nil {
			return err
		}
	}
	return nil
}
