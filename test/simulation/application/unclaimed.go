// SPDX-License-Identifier: Apache-2.0

package application

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
)

// What happens between the delivery of a workload and its claim, when nobody holds it.

// delivered goes on until there is a workload of a revision, and nobody holds it.
func (s *simulation) delivered(revision string) error {
	return s.Until("the delivery of "+revision, func() bool {
		for _, one := range workloads(s.World) {
			if one.appRevision == revision && !one.Held {
				return true
			}
		}
		return false
	})
}

// unheld asks for the second version, and goes on until it is delivered.
func unheld(s *simulation) error {
	s.releases("v2")
	return s.delivered("web-v2")
}

func deletesRolloutUnheld(s *simulation) error {
	if err := unheld(s); err != nil {
		return err
	}
	return deletesRollout(s)
}

// deletesFirst deletes the rollout of the first release, of a component that an autoscaler sizes.
func deletesFirst(s *simulation, kind string) error {
	s.scaler.load = 4
	s.creates(inBatches(2, -1), component("cart", kind, "v1", trait("hpa", map[string]any{"min": 4, "max": 8})))
	if err := s.delivered("web-v1"); err != nil {
		return err
	}
	return s.acts([]act{deletesRollout})
}

func deletesByHandUnheld(s *simulation) error {
	s.rolls("web-v1", "web-v2", inBatches(2, -1))
	if err := s.delivered("web-v2"); err != nil {
		return err
	}
	return deletesByHand(s)
}

// swapsUnheld has source and target change places: there is nothing to roll out then.
func swapsUnheld(s *simulation) error {
	s.rolls("web-v1", "web-v2", inBatches(2, -1))
	if err := s.delivered("web-v2"); err != nil {
		return err
	}
	return backward(s)
}

// closed looks at workloads that nobody holds, in a world at rest: one whose pods are all on its template keeps none back, for nobody
// would ever let them go on to the next one. What a rollout has left that has failed waits for a person.
func (j *judge) closed(app *oamv1beta1.Application) error {
	if app == nil || !apimeta.IsStatusConditionTrue(app.Status.Conditions, oamv1beta1.ConditionRevision) { // it says what it waits for
		return nil
	}
	for _, one := range workloads(j.World) {
		if !one.isInPlace() || one.Kept == 0 || one.Held || one.controller != oamv1beta1.ApplicationKind || j.failed(one.component) {
			continue
		}
		if pods := j.TallyOf(j.PodsOf(one.object)); pods.All[one.App] == pods.Pods {
			return fmt.Errorf("%s %s keeps %d pods back; all of its pods are on its template, and nobody holds it", api.KindOf(one.object), one.object.GetName(), one.Kept)
		}
	}
	return nil
}

// failed tells whether a rollout of a component has failed.
func (j *judge) failed(component string) bool {
	for _, o := range j.Server.List(api.AppRollouts) {
		if r := o.(*oamv1beta1.AppRollout); r.Status.RollingState == rolloutv1alpha1.RolloutFailedState && r.Status.Component == component {
			return true
		}
	}
	return false
}

// heldWhole looks for a workload all of whose pods are held back, and that nobody holds.
func (j *judge) heldWhole() error {
	for _, one := range workloads(j.World) {
		if pods := j.TallyOf(j.PodsOf(one.object)); one.isInPlace() && !one.Held && pods.Pods > 0 && pods.All[one.App] == 0 {
			return fmt.Errorf("%s %s has none of its %d pods on its template, and nobody holds it", api.KindOf(one.object), one.object.GetName(), pods.Pods)
		}
	}
	return nil
}

// unclaimed are the stories of applications, and unclaimedByHand those of AppRollouts that people write.
var (
	unclaimed = []story{
		{name: "somebody deletes its rollout before that holds the workload, and it begins anew", tell: then(deletesRolloutUnheld), ends: "4 v2"},
		{name: "somebody deletes its first rollout before that holds the workload, and it begins anew", tell: deletesFirst, ends: "4 v1"},
	}
	unclaimedByHand = []story{
		{name: "deleted before it holds the workload", tell: rolled("v1", deletesByHandUnheld), ends: "4 v1"},
		{name: "deleted before it holds the workload, and asked for again", tell: rolled("v1", deletesByHandUnheld, forward), ends: "4 v2"},
		{name: "swapped before it holds the workload", tell: rolled("v1", swapsUnheld), ends: "4 v1", only: inPlace},
	}
)
