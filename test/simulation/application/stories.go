// SPDX-License-Identifier: Apache-2.0

package application

import (
	"errors"
	"fmt"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// story is one way that a release of an application can go.
type story struct {
	name string
	tell func(*simulation, string) error
	// ends is what its pods run in the end: "4 v1". Apart is for Deployments, where it differs.
	ends, apart string
	// only is the type of component that it is about; empty for both.
	only string
	// fails: the application is not well in the end.
	fails bool
}

// stories are those of applications, in the order in which they are told.
var stories = []story{
	{name: "the first release goes from none to its size in batches", tell: first, ends: "4 v1"},
	{name: "the next one goes in batches", tell: then(second), ends: "4 v2"},
	{name: "an edit in the middle supersedes", tell: then(superseded), ends: "4 v3"},
	{name: "going back afterwards goes in batches", tell: then(second, releases("v1")), ends: "4 v1"},
	{name: "going back in the middle goes in batches", tell: then(halfway, releases("v1")), ends: "4 v1"},
	{name: "an edit of the plan alone makes no revision", tell: then(otherPlan), ends: "4 v1"},
	{name: "a longer way is gone when the partition goes", tell: then(halfway, goesOn), ends: "4 v2"},
	{name: "another size is a rollout of its own", tell: then(resizes), ends: "6 v1"},
	{name: "a broken version stops, and the next edit mends it", tell: then(broken, releases("v3")), ends: "4 v3"},
	{name: "a broken version fails by its deadline, and says so", tell: then(failing), ends: "3 v1, 1 v2-broken (1 not available)", apart: "4 v1, 2 v2-broken (2 not available)", fails: true},
	{name: "one component goes after the other, and one leaves", tell: then(others), ends: "4 v2"},
	{name: "without a plan all goes at once", tell: atOnce, ends: "4 v2"},
	{name: "somebody deletes what was deployed, and it comes back", tell: then(deletesWorkload), ends: "4 v1"},
	{name: "somebody deletes its rollout in the middle, and the next edit goes on", tell: then(halfway, deletesRollout, releases("v3")), ends: "4 v3"},
	{name: "it is deleted in the middle", tell: then(halfway, deletesApp), ends: "no pods"},
	{name: "an autoscaler rests meanwhile", tell: autoscaled, ends: "5 v2", only: apart},
	{name: "an autoscaler goes on meanwhile", tell: autoscaled, ends: "5 v2", only: inPlace},
	{name: "somebody deletes its rollout in the middle, and it is put back and goes on", tell: then(halfway, deletesRollout, goesOn), ends: "4 v2"},
	{name: "a broken version that went out without a plan is mended by a release with one", tell: stuck, ends: "4 v3", only: inPlace},
}

// byHandStories are those of AppRollouts that people write.
var byHandStories = []story{
	{name: "forward", tell: rolled("v1", forward), ends: "4 v2"},
	{name: "backward", tell: rolled("v1", forward, backward), ends: "4 v1"},
	{name: "swapped in the middle", tell: rolled("v1", half, backward), ends: "4 v1"},
	{name: "another target in the middle", tell: rolled("v1", half, further), ends: "4 v3"},
	{name: "to another size", tell: rolled("v1", forward, scaled(7), scaled(3)), ends: "3 v2"},
	{name: "deleted in the middle", tell: rolled("v1", half, deletesByHand), ends: "2 v1, 2 v2"},
	{name: "deleted in the middle with revertOnDelete", tell: rolled("v1", halfReverted, deletesByHand), ends: "4 v1"},
	{name: "a revision is missing, and comes", tell: rolled("v1", missing), ends: "4 v2"},
	{name: "a revision is missing, and it is deleted", tell: rolled("v1", absent, deletesByHand), ends: "4 v1"},
	{name: "the application is deleted first", tell: rolled("v1", half, deletesApp, deletesByHand), ends: "no pods"},
}

// play tells a story, and returns its transcript.
func (st story) play(kind string, mutation Hooks) (string, error) {
	s := newSimulation(mutation)
	err := st.tell(s, kind)
	if err == nil {
		err = s.Rest()
	}
	if err == nil {
		err = s.ends(st, kind)
	}
	return s.transcript(), err
}

// ends compares what there is with what should be.
func (s *simulation) ends(st story, kind string) error {
	if err := errors.Join(s.judge.settled(), s.judge.heldWhole()); err != nil {
		return err
	}
	want := st.ends
	if st.apart != "" && kind == apart {
		want = st.apart
	}
	if got := s.TallyOf(s.Pods()).String(); got != want {
		return fmt.Errorf("in the end there are %s, and there should be %s", got, want)
	}
	app := s.app()
	if app == nil || app.IsRolloutTemplate() {
		if r := rolloutOf(s.World, byHand); r != nil && r.Status.RollingState == rolloutv1alpha1.RolloutSucceedState {
			return errors.Join(s.judge.rolledOut(r), s.undisturbed())
		}
		return s.undisturbed()
	}
	err := s.judge.deployed()
	if err == nil {
		err = s.judge.kept(app)
	}
	switch {
	case !st.fails && err != nil:
		return fmt.Errorf("in the end %w", err)
	case st.fails && (err == nil || app.Status.Phase != oamv1beta1.ApplicationRollingOutFailed):
		return fmt.Errorf("in the end it is %s", app.Status.Phase)
	}
	return s.undisturbed()
}

// undisturbed looks at everything once more with a new process: nothing may be written.
func (s *simulation) undisturbed() error {
	before := len(s.Server.Log())
	s.Manager.Start(nil)
	for len(s.Manager.Queued()) > 0 {
		if err := s.Manager.Reconcile(); err != nil {
			return err
		}
	}
	for _, w := range s.Server.Log()[before:] {
		return fmt.Errorf("at rest there is a write: %s of %s %s %s", w.Verb, w.Kind, w.After.GetName(), w.Subresource)
	}
	return nil
}

func first(s *simulation, kind string) error {
	s.creates(inBatches(2, -1), component("cart", kind, "v1", sized(4)...))
	return s.Rest()
}

// act is a part of a story.
type act func(*simulation) error

// then goes on after the first release.
func then(acts ...act) func(*simulation, string) error {
	return func(s *simulation, kind string) error {
		if err := first(s, kind); err != nil {
			return err
		}
		return s.acts(acts)
	}
}

func (s *simulation) acts(acts []act) error {
	for _, act := range acts {
		if err := act(s); err != nil {
			return err
		}
		if err := s.Rest(); err != nil {
			return err
		}
	}
	return nil
}

func releases(version string) act {
	return func(s *simulation) error {
		s.edit(func(a *oamv1beta1.Application) {
			a.Spec.Components[0].Properties, a.Spec.RolloutPlan = component("", "", version).Properties, inBatches(2, -1)
		})
		return nil
	}
}

func second(s *simulation) error {
	s.releases("v2")
	return nil
}

// halfway goes to the end of the first batch.
func halfway(s *simulation) error {
	s.edit(func(a *oamv1beta1.Application) {
		a.Spec.Components[0].Properties, a.Spec.RolloutPlan = component("", "", "v2").Properties, inBatches(2, 0)
	})
	return nil
}

func goesOn(s *simulation) error {
	s.edit(func(a *oamv1beta1.Application) { a.Spec.RolloutPlan.BatchPartition = nil })
	return nil
}

func superseded(s *simulation) error {
	s.releases("v2")
	if err := s.Until("the first batch", func() bool { return s.runs("v2") == 2 }); err != nil {
		return err
	}
	s.releases("v3")
	return nil
}

// runs is how many pods run a version.
func (s *simulation) runs(version string) int { return s.TallyOf(s.Pods()).All[version] }

func otherPlan(s *simulation) error {
	s.edit(func(a *oamv1beta1.Application) { a.Spec.RolloutPlan = inBatches(3, -1) })
	return nil
}

func resizes(s *simulation) error {
	s.edit(func(a *oamv1beta1.Application) { a.Spec.Components[0].Traits = sized(6) })
	return nil
}

func broken(s *simulation) error {
	s.releases("v2-broken")
	return nil
}

func failing(s *simulation) error {
	s.edit(func(a *oamv1beta1.Application) {
		a.Spec.Components[0].Properties, a.Spec.RolloutPlan = component("", "", "v2-broken").Properties, inBatches(2, -1)
		a.Spec.RolloutPlan.FailurePolicy, a.Spec.RolloutPlan.ProgressDeadlineSeconds = rolloutv1alpha1.FailOnFailure, ptr.To[int32](60)
	})
	return nil
}

// others come after the first component, without its Service, and one of them leaves.
func others(s *simulation) error {
	s.edit(func(a *oamv1beta1.Application) {
		kind := a.Spec.Components[0].Type
		a.Spec.Components = append(a.Spec.Components, component("stock", kind, "v1", sized(2)...))
		a.Spec.Components[0].Properties, a.Spec.Components[0].Traits = component("", "", "v2").Properties, sized(4)[:1]
	})
	if err := s.Rest(); err != nil {
		return err
	}
	s.edit(func(a *oamv1beta1.Application) { a.Spec.Components = a.Spec.Components[:1] })
	return nil
}

func atOnce(s *simulation, kind string) error {
	s.creates(nil, component("cart", kind, "v1", sized(4)...))
	return s.acts([]act{func(*simulation) error { return nil }, second})
}

func stuck(s *simulation, kind string) error {
	s.creates(nil, component("cart", kind, "v1", sized(4)...))
	return s.acts([]act{func(*simulation) error { return nil }, broken, releases("v3")})
}

func deletesWorkload(s *simulation) error {
	one := workloads(s.World)[0]
	s.removes(api.KindOf(one.object), one.object.GetName())
	return nil
}

func deletesRollout(s *simulation) error {
	s.removes(api.AppRollouts, world.SetName)
	return nil
}

func deletesApp(s *simulation) error {
	s.removes(api.Applications, world.SetName)
	return nil
}

// autoscaled is a release under load, in the middle of which the load grows.
func autoscaled(s *simulation, kind string) error {
	s.scaler.load = 4
	hpa := trait("hpa", map[string]any{"min": 4, "max": 8})
	s.creates(inBatches(2, -1), component("cart", kind, "v1", hpa))
	return s.acts([]act{func(*simulation) error { return nil }, halfway, func(s *simulation) error {
		s.Say("the load grows by a quarter")
		s.scaler.load = 5
		return nil
	}, goesOn})
}

// rolled is a story of an application that only records revisions, the first of which is rolled out by hand.
func rolled(version string, acts ...act) func(*simulation, string) error {
	return func(s *simulation, kind string) error {
		s.template = true
		s.creates(nil, component("cart", kind, version, sized(4)...))
		if err := s.Rest(); err != nil {
			return err
		}
		plan := inBatches(2, -1)
		plan.TargetSize = ptr.To[int32](4)
		s.rolls("", world.SetName+"-v1", plan)
		if err := s.Rest(); err != nil {
			return err
		}
		s.releases("v2")
		if err := s.Rest(); err != nil {
			return err
		}
		return s.acts(acts)
	}
}

func forward(s *simulation) error {
	s.rolls("web-v1", "web-v2", inBatches(2, -1))
	return nil
}

func half(s *simulation) error {
	s.rolls("web-v1", "web-v2", inBatches(2, 0))
	return nil
}

func halfReverted(s *simulation) error {
	plan := inBatches(2, 0)
	plan.RevertOnDelete = true
	s.rolls("web-v1", "web-v2", plan)
	return nil
}

func backward(s *simulation) error {
	s.rolls("web-v2", "web-v1", inBatches(2, -1))
	return nil
}

func further(s *simulation) error {
	s.releases("v3")
	if err := s.Rest(); err != nil {
		return err
	}
	plan := inBatches(2, -1)
	plan.TargetSize = ptr.To[int32](4)
	s.rolls("web-v1", "web-v3", plan)
	return nil
}

func scaled(n int32) act {
	return func(s *simulation) error {
		plan := inBatches(2, -1)
		plan.TargetSize = ptr.To(n)
		s.rolls("", "web-v2", plan)
		return nil
	}
}

func deletesByHand(s *simulation) error {
	s.removes(api.AppRollouts, byHand)
	return nil
}

func missing(s *simulation) error {
	s.rolls("web-v2", "web-v3", inBatches(2, -1))
	if err := s.Rest(); err != nil {
		return err
	}
	s.rolls("web-v1", "web-v2", inBatches(2, -1))
	return nil
}

func absent(s *simulation) error {
	s.rolls("web-v2", "web-v3", inBatches(2, -1))
	return nil
}
