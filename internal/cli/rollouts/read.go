// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/cli/tree"
)

// Kind reads rollouts, and nothing else.
type Kind struct{}

// Name is the kind as people write it.
func (Kind) Name() string { return rolloutv1alpha1.RolloutTraitKind }

// GroupVersionKind is the kind in full.
func (Kind) GroupVersionKind() schema.GroupVersionKind {
	return rolloutv1alpha1.GroupVersion.WithKind(rolloutv1alpha1.RolloutTraitKind)
}

// Reads are the resources that are read besides the rollouts.
func (Kind) Reads() []string { return nil }

// Table lays many rollouts out.
func (Kind) Table(views []sets.View, namespaces, wide bool) ([]tree.Column, []tree.Node) {
	return table(views, namespaces, wide)
}

// Look reads one rollout and looks at it.
func (Kind) Look(ctx context.Context, c client.Reader, key types.NamespacedName, now time.Time) (sets.View, error) {
	r := &rolloutv1alpha1.RolloutTrait{}
	if err := c.Get(ctx, key, r); err != nil {
		return sets.View{}, err
	}
	return NewView(r, now), nil
}

// List looks at many rollouts.
func (Kind) List(ctx context.Context, c client.Reader, now time.Time, options ...client.ListOption) ([]sets.View, error) {
	list := &rolloutv1alpha1.RolloutTraitList{}
	if err := c.List(ctx, list, options...); err != nil {
		return nil, err
	}
	views := make([]sets.View, 0, len(list.Items))
	for i := range list.Items {
		views = append(views, NewView(&list.Items[i], now))
	}
	return views, nil
}

// WatchAll follows many rollouts until the context ends. The first function looks at them, the second says what keeps them
// from being followed at the moment.
func (Kind) WatchAll(
	ctx context.Context, c client.WithWatch, options feed.Options, changed feed.Signal,
) (func(time.Time) []sets.View, func() error, error) {
	followed, err := follow(ctx, c, options, changed)
	if err != nil {
		return nil, nil, fmt.Errorf("following the RolloutTraits: %w", err)
	}
	return func(now time.Time) []sets.View {
		var views []sets.View
		for _, r := range followed.Items() {
			views = append(views, NewView(r, now))
		}
		return views
	}, followed.Err, nil
}

func follow(ctx context.Context, c client.WithWatch, options feed.Options, changed feed.Signal) (*feed.Feed[*rolloutv1alpha1.RolloutTrait], error) {
	return feed.Start(ctx, c, &rolloutv1alpha1.RolloutTrait{}, func() client.ObjectList { return &rolloutv1alpha1.RolloutTraitList{} }, options, changed)
}

// Watch follows one rollout until the context ends; see Follow.
func (k Kind) Watch(ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal) (sets.Source, error) {
	return k.Follow(ctx, c, key, changed)
}

// Watch follows one rollout.
type Watch struct {
	uid      types.UID
	rollouts *feed.Feed[*rolloutv1alpha1.RolloutTrait]
}

// Follow starts to follow a rollout until the context ends, and gives changed whenever something did. It needs get, list and
// watch of rollouts.
func (Kind) Follow(ctx context.Context, c client.WithWatch, key types.NamespacedName, changed feed.Signal) (*Watch, error) {
	r := &rolloutv1alpha1.RolloutTrait{}
	if err := c.Get(ctx, key, r); err != nil {
		return nil, err
	}
	only := feed.Options{Namespace: key.Namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name)}
	rollouts, err := follow(ctx, c, only, changed)
	if err != nil {
		return nil, fmt.Errorf("following RolloutTrait %s: %w", key, err)
	}
	return &Watch{uid: r.UID, rollouts: rollouts}, nil
}

// Rollout is the newest known state. The error is sets.ErrGone, also when another rollout has the name by now.
func (w *Watch) Rollout() (*rolloutv1alpha1.RolloutTrait, error) {
	for _, r := range w.rollouts.Items() {
		if r.UID == w.uid {
			return r, nil
		}
	}
	return nil, fmt.Errorf("the RolloutTrait %w", sets.ErrGone)
}

// View looks at the newest known state. The error is sets.ErrGone.
func (w *Watch) View(now time.Time) (sets.View, error) {
	r, err := w.Rollout()
	if err != nil {
		return sets.View{}, err
	}
	return NewView(r, now), nil
}

// Err is what keeps the watch from following at the moment; it tries on.
func (w *Watch) Err() error { return w.rollouts.Err() }
