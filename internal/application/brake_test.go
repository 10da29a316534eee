// SPDX-License-Identifier: Apache-2.0

package application

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/internal/application/plan"
)

// A brake that somebody has put on the AppRollout of an application stays on, for it may be all that stops a bad release. Who reads the
// application, whose plan has none, is told where it is.
func TestABrakeThatThePlanDoesNotHaveIsFound(t *testing.T) {
	for sentence, c := range map[string]struct {
		brake   func(*rolloutv1alpha1.RolloutPlan)
		waits   rolloutv1alpha1.WaitingFor
		planned func(*oamv1beta1.Application)
		want    string
	}{
		"a pause":                       {func(p *rolloutv1alpha1.RolloutPlan) { p.Paused = true }, rolloutv1alpha1.WaitingForUnpause, inBatches, "spec.rolloutPlan.paused stands in AppRollout shop"},
		"a partition":                   {func(p *rolloutv1alpha1.RolloutPlan) { p.BatchPartition = ptr.To[int32](0) }, rolloutv1alpha1.WaitingAtPartition, inBatches, "spec.rolloutPlan.batchPartition stands in AppRollout shop"},
		"one that it does not wait for": {func(p *rolloutv1alpha1.RolloutPlan) { p.BatchPartition = ptr.To[int32](0) }, rolloutv1alpha1.WaitingForPods, inBatches, ""},
		"one that the plan has": {func(p *rolloutv1alpha1.RolloutPlan) { p.Paused = true }, rolloutv1alpha1.WaitingForUnpause, func(a *oamv1beta1.Application) {
			inBatches(a)
			a.Spec.RolloutPlan.Paused = true
		}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, 10, app("a:1", "", c.planned))
			w.settle()
			r := get(w, &oamv1beta1.AppRollout{}, "shop")
			c.brake(&r.Spec.RolloutPlan)
			r.Status.WaitingFor, r.Status.Message = c.waits, "it waits"
			status := r.Status
			if err := w.Update(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			r.Status = status
			if err := w.Status().Update(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			w.settle()
			got := w.condition(oamv1beta1.ConditionRollout).Message
			if !strings.HasPrefix(got, "component cart: it waits") || !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "stands in") {
				t.Errorf("it says %q", got)
			}
		})
	}
}

// A plan that is gone has no say: the rollout is about to go as well.
func TestThereIsNoBrakeWithoutAPlan(t *testing.T) {
	r := &oamv1beta1.AppRollout{}
	r.Spec.RolloutPlan.BatchPartition, r.Status.WaitingFor = ptr.To[int32](0), rolloutv1alpha1.WaitingAtPartition
	if got := brake(&plan.World{App: &oamv1beta1.Application{}, Rollout: r}); got != "" {
		t.Errorf("it says %q", got)
	}
}
