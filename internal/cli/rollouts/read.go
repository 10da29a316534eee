// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/cli/sets"
)

// Kind reads rollouts.
func Kind() sets.Podless[*rolloutv1alpha1.RolloutTrait] {
	return sets.Podless[*rolloutv1alpha1.RolloutTrait]{
		GVK:     rolloutv1alpha1.GroupVersion.WithKind(rolloutv1alpha1.RolloutTraitKind),
		New:     func() *rolloutv1alpha1.RolloutTrait { return &rolloutv1alpha1.RolloutTrait{} },
		NewList: func() client.ObjectList { return &rolloutv1alpha1.RolloutTraitList{} },
		View:    NewView, Lay: table,
	}
}
