// SPDX-License-Identifier: Apache-2.0

package application

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/kube"
	"slipway.dev/slipway/test/simulation/world"
)

// tale is one random story of an application.
type tale struct {
	*world.Story
	of     *kind
	kube   *kube.Controllers
	scaler *autoscaler
	// types are those of the components that there may be, by name: a component does not become one of another kind.
	types map[string]string
	// contents are all that was ever asked for, for going back.
	contents [][]oamv1beta1.ApplicationComponent
	versions int // so far
	// closing: the storm is over. last: the last edit was made.
	closing, last bool
}

var _ world.Users = &tale{}

// The themes. A story about smooth releases has neither misfortunes nor broken versions, so that what serves can be held against it.
// In one about rollouts by hand the application records revisions, and people write AppRollouts.
const (
	smooth  world.Theme = "smooth releases"
	handful world.Theme = "rollouts by hand"
)

var themes = []world.Theme{world.Anything, world.Anything, smooth, handful}

// names are those of components, in the order in which they come.
var names = []string{"cart", "stock"}

// Run plays the story of a seed. It returns the first violation, with what had happened at that point; nil if there is none.
func Run(seed uint64, mutation Hooks, tell func(format string, args ...any)) error {
	k := &kind{mutation: mutation}
	s := &tale{Story: world.NewStory(seed, "", themes, k, tell), of: k, types: map[string]string{}}
	s.kube, s.scaler = &kube.Controllers{World: s.World}, &autoscaler{World: s.World}
	s.Wakes = wakes(s.kube, s.scaler)
	for _, name := range names {
		s.types[name] = []string{inPlace, apart}[s.Random.IntN(2)]
	}
	return s.Play(s)
}

func (s *tale) app() *oamv1beta1.Application { return typed(s.Set()) }

// Begin makes the definitions and the first application.
func (s *tale) Begin() {
	define(s.World, false)
	if s.About(smooth) {
		s.Misfortunes = 0
	}
	s.Edits += 3
	s.newApplication()
}

func (s *tale) newApplication() {
	app := &oamv1beta1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: world.Namespace, Name: world.SetName}}
	for _, name := range names[:1+s.Random.IntN(2)] {
		app.Spec.Components = append(app.Spec.Components, s.component(name))
	}
	switch {
	case s.About(handful) && !s.closing:
		app.Annotations = map[string]string{oamv1beta1.AnnotationRolloutTemplate: "true"}
	case s.closing || s.Random.IntN(6) > 0:
		app.Spec.RolloutPlan = s.plan()
	}
	s.mend(app)
	s.note(app)
	s.Create(app)
}

func (s *tale) note(app *oamv1beta1.Application) {
	s.contents = append(s.contents, app.DeepCopy().Spec.Components)
}

// component is a new one.
func (s *tale) component(name string) oamv1beta1.ApplicationComponent {
	traits := []oamv1beta1.ApplicationTrait{s.size()}
	if s.Random.IntN(2) == 0 {
		traits = append(traits, exposed())
	}
	return component(name, s.types[name], s.version(), traits...)
}

func exposed() oamv1beta1.ApplicationTrait { return trait("expose", map[string]any{"port": []any{80}}) }

// size is a trait that says how many pods there are: a number, or an autoscaler.
func (s *tale) size() oamv1beta1.ApplicationTrait {
	if s.Random.IntN(4) == 0 {
		low := 1 + s.Random.IntN(4)
		return trait("hpa", map[string]any{"min": low, "max": low + s.Random.IntN(5)})
	}
	return trait("scaler", map[string]any{"replicas": 1 + s.Random.IntN(6)})
}

// version is a new one, mostly a healthy one.
func (s *tale) version() string {
	s.versions++
	return s.SomeVersion(s.versions, s.versions <= 2 || s.closing || s.About(smooth))
}

// plan is some plan.
func (s *tale) plan() *rolloutv1alpha1.RolloutPlan {
	r := s.Random
	p := inBatches(1+r.IntN(3), -1)
	p.RolloutStrategy = []rolloutv1alpha1.RolloutStrategyType{"", rolloutv1alpha1.IncreaseFirst, rolloutv1alpha1.DecreaseFirst}[r.IntN(3)]
	if s.closing {
		return p
	}
	if r.IntN(4) == 0 {
		p.BatchPartition = ptr.To(int32(r.IntN(2)))
	}
	p.RevertOnDelete = r.IntN(4) == 0
	p.FailurePolicy = []rolloutv1alpha1.FailurePolicy{"", rolloutv1alpha1.FailOnFailure, rolloutv1alpha1.PauseOnFailure, rolloutv1alpha1.RevertOnFailure}[r.IntN(4)]
	if r.IntN(2) == 0 {
		p.ProgressDeadlineSeconds = ptr.To(int32(30 + r.IntN(100)))
	}
	return p
}

// edit changes the application. A plan that is under way may change as a whole only with other components.
func (s *tale) edit(change func(*oamv1beta1.Application)) {
	s.Edit(func(o client.Object) {
		change(typed(o))
		s.mend(typed(o))
		s.note(typed(o))
	})
}

// mend lets no broken version go without a plan: its Deployment would be in the middle of its own update for ever, and a rollout that
// comes later waits for that.
func (s *tale) mend(a *oamv1beta1.Application) {
	for i := range a.Spec.Components {
		c := &a.Spec.Components[i]
		if a.Spec.RolloutPlan == nil && !a.IsRolloutTemplate() && strings.HasSuffix(askedOf(c).version, "-broken") {
			c.Properties = component("", "", strings.TrimSuffix(s.version(), "-broken")).Properties
		}
	}
}

// EditOnce is one thing that a person, or another program, does.
func (s *tale) EditOnce() {
	s.Edits--
	app := s.app()
	switch {
	case app == nil:
		s.newApplication()
	case app.DeletionTimestamp != nil:
		s.fromOutside()
	case app.IsRolloutTemplate() && s.Random.IntN(2) == 0:
		s.byHand()
	case s.Random.IntN(4) == 0:
		s.fromOutside()
	case s.Random.IntN(4) == 0:
		s.editPlan(app)
	default:
		s.editContent()
	}
}

// editContent changes what is asked for, and sometimes the plan with it.
func (s *tale) editContent() {
	s.edit(func(a *oamv1beta1.Application) {
		c := &a.Spec.Components[s.Random.IntN(len(a.Spec.Components))]
		switch n := s.Random.IntN(16); {
		case n < 6:
			c.Properties = component("", "", s.version()).Properties
		case n < 8:
			a.Spec.Components = append([]oamv1beta1.ApplicationComponent(nil), s.contents[s.Random.IntN(len(s.contents))]...)
		case n < 11:
			c.Traits = append([]oamv1beta1.ApplicationTrait{s.size()}, c.Traits[1:]...)
		case n < 13 && len(c.Traits) > 1:
			c.Traits = c.Traits[:1]
		case n < 13:
			c.Traits = append(c.Traits, exposed())
		case n < 14 && len(a.Spec.Components) > 1:
			a.Spec.Components = a.Spec.Components[1:]
		case n < 15 && len(a.Spec.Components) == 1:
			for _, name := range names {
				if name != a.Spec.Components[0].Name {
					a.Spec.Components = append(a.Spec.Components, s.component(name))
				}
			}
		default:
			c.Properties = properties(map[string]any{"image": world.ImageApp + ":v1", "color": "red"}) // there is no such property
		}
		if !a.IsRolloutTemplate() && s.Random.IntN(3) == 0 {
			a.Spec.RolloutPlan = s.plan()
			if s.Random.IntN(6) == 0 {
				a.Spec.RolloutPlan = nil
			}
		}
	})
}

// editPlan changes the plan alone: all of it when nothing is under way.
func (s *tale) editPlan(app *oamv1beta1.Application) {
	under := rolloutOf(s.World, world.SetName)
	free := under == nil || under.Status.RollingState.IsFinal() && under.Status.ObservedGeneration == under.Generation && app.Status.ObservedGeneration == app.Generation
	s.edit(func(a *oamv1beta1.Application) {
		p := a.Spec.RolloutPlan
		switch n := s.Random.IntN(6); {
		case a.IsRolloutTemplate():
		case p == nil || free && n < 2:
			a.Spec.RolloutPlan = s.plan()
		case n < 3:
			p.Paused = !p.Paused
		case n < 5 && p.BatchPartition != nil:
			p.BatchPartition = nil
			if s.Random.IntN(2) == 0 {
				p.BatchPartition = ptr.To[int32](1)
			}
		default:
			p.FailurePolicy = rolloutv1alpha1.FailOnFailure
		}
	})
}

// fromOutside is what happens to an application.
func (s *tale) fromOutside() {
	all := workloads(s.World)
	one := func() runner { return all[s.Random.IntN(len(all))] }
	rollout := rolloutOf(s.World, world.SetName)
	switch n := s.Random.IntN(16); {
	case n < 2 && s.app().DeletionTimestamp == nil:
		s.DeleteSet()
	case n < 4 && len(all) > 0 && !s.About(smooth):
		o, size := one().object, s.Random.IntN(7)
		s.Must(s.Server.Modify("user", api.KindOf(o), client.ObjectKeyFromObject(o), api.Main, func(o client.Object) { resize(o, size) }))
		s.Tell("user: asks %s for %d pods", o.GetName(), size)
	case n < 5 && len(all) > 0 && !s.About(smooth):
		o := one().object
		s.Remove(api.KindOf(o), o.GetName())
	case n < 6 && rollout != nil && rollout.DeletionTimestamp == nil:
		s.Remove(api.AppRollouts, world.SetName)
	case n < 9 && rollout != nil:
		s.says(rollout)
	case n < 10:
		for _, o := range s.Server.List(api.Services) {
			s.Remove(api.Services, o.GetName())
		}
	case n < 12:
		s.kube.Stopped = !s.kube.Stopped
		s.Tell("kubernetes: its controllers are out of order: %t", s.kube.Stopped)
	case n < 13:
		s.redefine()
	default:
		s.scaler.load = s.Random.IntN(10)
		s.Tell("load: work for %d pods", s.scaler.load)
	}
}

// says is what a person says about a rollout.
func (s *tale) says(r *oamv1beta1.AppRollout) {
	key := []string{rolloutv1alpha1.AnnotationRetry, rolloutv1alpha1.AnnotationRetry, rolloutv1alpha1.AnnotationAbort, rolloutv1alpha1.AnnotationRevert}[s.Random.IntN(4)]
	s.Must(s.Server.Modify("user", api.AppRollouts, client.ObjectKeyFromObject(r), api.Main, func(o client.Object) {
		o.SetAnnotations(world.Merged(o.GetAnnotations(), key, r.Status.Take()))
	}))
	s.Tell("user: says %s=%s about %s", key, r.Status.Take(), r.Name)
}

// redefine changes a definition without changing what it makes.
func (s *tale) redefine() {
	key := types.NamespacedName{Namespace: oamv1beta1.SystemNamespace, Name: inPlace}
	s.Must(s.Server.Modify("user", api.ComponentDefinitions, key, api.Main, func(o client.Object) {
		d := o.(*oamv1beta1.ComponentDefinition)
		d.Spec.Schematic.CUE.Template = shipped().Components[inPlace].Spec.Schematic.CUE.Template + fmt.Sprintf("\n// edition %d\n", 1+s.Random.IntN(3))
	}))
	s.Tell("user: edits the definition %s", inPlace)
}

// byHand writes an AppRollout, or changes or deletes the one that there is.
func (s *tale) byHand() {
	r := rolloutOf(s.World, byHand)
	if r != nil && s.Random.IntN(4) == 0 {
		if r.DeletionTimestamp == nil {
			s.Remove(api.AppRollouts, byHand)
		}
		return
	}
	if r != nil && s.Random.IntN(4) == 0 {
		s.says(r)
		return
	}
	spec, some := s.askByHand()
	if !some || r != nil && r.DeletionTimestamp != nil {
		return
	}
	s.Tell("user: asks for a rollout: %s", asks(&spec))
	ask(s.World, spec)
}

// askByHand is a rollout of a component from the revision that it has to some other one, or to another size.
func (s *tale) askByHand() (spec oamv1beta1.AppRolloutSpec, some bool) {
	revisions := s.Server.List(api.ApplicationRevisions)
	if len(revisions) == 0 {
		return spec, false
	}
	name := names[s.Random.IntN(2)]
	spec = oamv1beta1.AppRolloutSpec{
		TargetAppRevisionName: revisions[s.Random.IntN(len(revisions))].GetName(), ComponentList: []string{name}, RolloutPlan: *s.plan(),
	}
	if live := of(s.World, name); len(live) > 0 && s.Random.IntN(4) > 0 {
		spec.SourceAppRevisionName = live[s.Random.IntN(len(live))].appRevision
	}
	if spec.SourceAppRevisionName == spec.TargetAppRevisionName {
		spec.SourceAppRevisionName = ""
	}
	if spec.SourceAppRevisionName == "" {
		spec.RolloutPlan.TargetSize = ptr.To(int32(s.Random.IntN(7)))
	}
	if s.Random.IntN(12) == 0 {
		spec.TargetAppRevisionName = "web-v99"
	}
	return spec, true
}

// DisturbPod is one misfortune of a pod.
func (s *tale) DisturbPod(pod *corev1.Pod) { s.LosePod(pod) }

// Chores are what goes on besides: the controllers of Kubernetes, and the autoscaler.
func (s *tale) Chores(add func(weight int, do func())) {
	if act := s.kube.Step(); act != nil {
		add(s.Weights.Reconcile, act)
	}
	if act := s.scaler.next(); act != nil {
		add(s.Weights.Reconcile/2+1, act)
	}
	if s.closing && s.Calm {
		s.close(add)
	}
}
