// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/cli/feed"
	"slipway.dev/slipway/internal/cli/sets"
)

// Kind reads RolloutTraits.
func Kind() sets.Podless[*rolloutv1alpha1.RolloutTrait] {
	return sets.Podless[*rolloutv1alpha1.RolloutTrait]{
		GVK:     rolloutv1alpha1.GroupVersion.WithKind(rolloutv1alpha1.RolloutTraitKind),
		New:     func() *rolloutv1alpha1.RolloutTrait { return &rolloutv1alpha1.RolloutTrait{} },
		NewList: func() client.ObjectList { return &rolloutv1alpha1.RolloutTraitList{} },
		View:    func(r *rolloutv1alpha1.RolloutTrait, now time.Time) sets.View { return NewView(OfTrait(r), now) }, Lay: table,
	}
}

// AppKind reads AppRollouts.
func AppKind() sets.Podless[*oamv1beta1.AppRollout] {
	return sets.Podless[*oamv1beta1.AppRollout]{
		GVK:     oamv1beta1.GroupVersion.WithKind(oamv1beta1.AppRolloutKind),
		New:     func() *oamv1beta1.AppRollout { return &oamv1beta1.AppRollout{} },
		NewList: func() client.ObjectList { return &oamv1beta1.AppRolloutList{} },
		View:    func(r *oamv1beta1.AppRollout, now time.Time) sets.View { return NewView(OfRevisions(r), now) }, Lay: table,
	}
}

// Follow starts to follow a rollout of a kind until the context ends, and gives changed whenever something did. What it returns is
// the newest known state, or sets.ErrGone.
func Follow(ctx context.Context, kind string, c client.WithWatch, key types.NamespacedName, changed feed.Signal) (func() (*Rollout, error), error) {
	if kind == oamv1beta1.AppRolloutKind {
		return follow(ctx, AppKind(), OfRevisions, c, key, changed)
	}
	return follow(ctx, Kind(), OfTrait, c, key, changed)
}

func follow[T client.Object](
	ctx context.Context, kind sets.Podless[T], of func(T) *Rollout, c client.WithWatch, key types.NamespacedName, changed feed.Signal,
) (func() (*Rollout, error), error) {
	watch, err := kind.Follow(ctx, c, key, changed)
	if err != nil {
		return nil, err
	}
	return func() (*Rollout, error) {
		o, err := watch.Object()
		if err != nil {
			return nil, err
		}
		return of(o), nil
	}, nil
}
