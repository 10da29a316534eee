// SPDX-License-Identifier: Apache-2.0

package application

import (
	"errors"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
)

var _ interface {
	Calms()
	StandsStill() error
} = &tale{}

// Overtake begins another release.
func (s *tale) Overtake() {
	if app := s.app(); app.DeletionTimestamp == nil {
		s.edit(func(a *oamv1beta1.Application) {
			a.Spec.Components[0].Properties = component("", "", s.version()).Properties
		})
	}
}

// Calms has everybody do their work again, so that a standstill is one of the application.
func (s *tale) Calms() { s.kube.Stopped = false }

// StandsStill: an application that says that it is ready is, and one that is not says why. What stands in the middle is held by a
// rollout, or the application's.
func (s *tale) StandsStill() error {
	if err := s.of.judge.settled(); err != nil {
		return err
	}
	app := s.app()
	if app == nil || app.IsRolloutTemplate() {
		return nil
	}
	ready := apimeta.FindStatusCondition(app.Status.Conditions, oamv1beta1.ConditionReady)
	switch {
	case ready == nil:
		return errors.New("the application does not say whether it is ready")
	case ready.Status == metav1.ConditionTrue:
		if err := s.of.judge.deployed(); err != nil {
			return fmt.Errorf("the application says that it is ready: %w", err)
		}
	case ready.Message == "":
		return errors.New("the application does not say why it is not ready")
	}
	return nil
}

// LastEdit asks for versions that become healthy, by a plan that goes to its end.
func (s *tale) LastEdit() {
	s.closing = true
	s.Calms()
	s.scaler.load = 0
	if rolloutOf(s.World, byHand) == nil {
		s.lastEdit()
	}
}

// lastEdit comes when nobody else holds anything any more.
func (s *tale) lastEdit() {
	s.last = true
	if app := s.app(); app != nil && app.DeletionTimestamp == nil {
		s.edit(func(a *oamv1beta1.Application) {
			a.Annotations = nil
			for i := range a.Spec.Components {
				a.Spec.Components[i].Properties = component("", "", s.version()).Properties
			}
			a.Spec.RolloutPlan = s.plan()
		})
	}
}

// close makes the last application when there is none, and deletes what people have asked for by hand.
func (s *tale) close(add func(weight int, do func())) {
	if s.app() == nil {
		add(10, s.newApplication)
	}
	switch r := rolloutOf(s.World, byHand); {
	case r != nil && r.DeletionTimestamp == nil:
		add(10, func() { s.Remove(api.AppRollouts, byHand) })
	case r == nil && !s.last:
		add(10, s.lastEdit)
	}
}

// Converged compares the world with what was asked for last.
func (s *tale) Converged() error {
	j := s.of.judge
	if err := errors.Join(j.settled(), j.deployed()); err != nil {
		return err
	}
	return j.kept(s.app())
}
