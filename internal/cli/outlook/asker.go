// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/rolling"
	"slipway.dev/slipway/internal/cli/rollouts"
	"slipway.dev/slipway/internal/rollout/subject"
)

// asker is an object with a RolloutPlan, of whichever kind. Its parts are those of the object.
type asker struct {
	client.Object
	plan   *rolloutv1alpha1.RolloutPlan
	status *rolloutv1alpha1.RolloutStatus
	spec   any
	// shown is the object as people see it.
	shown func() *rollouts.Rollout
}

// asking looks at an object as an asker. An object of another kind than RolloutTrait and AppRollout is an error.
func asking(o client.Object) (asker, error) {
	switch o := o.(type) {
	case *rolloutv1alpha1.RolloutTrait:
		return asker{o, &o.Spec.RolloutPlan, &o.Status, &o.Spec, func() *rollouts.Rollout { return rollouts.OfTrait(o) }}, nil
	case *oamv1beta1.AppRollout:
		return asker{o, &o.Spec.RolloutPlan, &o.Status.RolloutStatus, &o.Spec, func() *rollouts.Rollout { return rollouts.OfRevisions(o) }}, nil
	}
	return asker{}, fmt.Errorf("a %T is no rollout", o)
}

// kindOf is what the controller knows of the kind of a rollout. It reads what is played.
func (p *play) kindOf() subject.Kind {
	if _, ofRevisions := p.asks.Object.(*oamv1beta1.AppRollout); ofRevisions {
		return rolling.AppRollouts{Live: p.store, Kinds: &p.adapters, Clock: hand{p}}
	}
	return subject.Traits{}
}

// hand is the clock of a play.
type hand struct{ *play }

// Now is the time that is played.
func (h hand) Now() time.Time { return h.now }

// Since is how long ago something was, as it is played.
func (h hand) Since(then time.Time) time.Duration { return h.now.Sub(then) }

// typed is the name of a rollout as people type it for commands.
func (o *Outlook) typed() string {
	if o.Kind == oamv1beta1.AppRolloutKind {
		return rollouts.AppRolloutWord + "/" + o.Name
	}
	return o.Name
}
