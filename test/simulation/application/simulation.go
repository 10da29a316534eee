// SPDX-License-Identifier: Apache-2.0

package application

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/test/node"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/kube"
	"slipway.dev/slipway/test/simulation/world"
)

const (
	// patience is how many things may happen before what is waited for has come.
	patience = 30000
	// quiet is how long nobody but nodes may do something for a world to be at rest in which pods crash for ever.
	quiet = 10 * time.Minute
)

// simulation is a world with an application, in which nothing is late and nothing fails, and in which things happen in a fixed order.
type simulation struct {
	*world.World
	*kind
	kube   *kube.Controllers
	scaler *autoscaler
	// template: applications are made as templates of rollouts.
	template bool
	notes    []note
	began    time.Time
}

// note is something that a person did, at a place in the history.
type note struct {
	at   int
	time time.Time
	text string
}

func newSimulation(mutation Hooks) *simulation { return newWorld(mutation, true) }

// newWorld is a simulation. Judged, definitions say how components are, which takes time; else their pods alone do.
func newWorld(mutation Hooks, judged bool) *simulation {
	k := &kind{mutation: mutation}
	s := &simulation{World: world.New(1, k, nil), kind: k}
	s.Model = node.Model{ReadyDelay: 2 * time.Second, RestartDelay: time.Second, CrashAfter: time.Second, BackOff: 10 * time.Second, MaxBackOff: 5 * time.Minute}
	s.kube, s.scaler = &kube.Controllers{World: s.World}, &autoscaler{World: s.World}
	s.Wakes = wakes(s.kube, s.scaler)
	define(s.World, judged)
	s.Manager.Start(nil)
	s.began = s.Clock.Now()
	return s
}

// component is one of a type that runs a version.
func component(name, kind, version string, traits ...oamv1beta1.ApplicationTrait) oamv1beta1.ApplicationComponent {
	return oamv1beta1.ApplicationComponent{Name: name, Type: kind, Properties: properties(map[string]any{"image": world.ImageApp + ":" + version}), Traits: traits}
}

func trait(kind string, values map[string]any) oamv1beta1.ApplicationTrait {
	return oamv1beta1.ApplicationTrait{Type: kind, Properties: properties(values)}
}

// sized are traits by which a component has so many pods, and a Service.
func sized(n int) []oamv1beta1.ApplicationTrait {
	return []oamv1beta1.ApplicationTrait{trait("scaler", map[string]any{"replicas": n}), trait("expose", map[string]any{"port": []any{80}})}
}

func properties(values map[string]any) *runtime.RawExtension {
	raw, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("properties cannot be written: %v", err))
	}
	return &runtime.RawExtension{Raw: raw}
}

// inBatches is a plan of so many equal batches; a partition of -1 is none.
func inBatches(number, partition int) *rolloutv1alpha1.RolloutPlan {
	p := &rolloutv1alpha1.RolloutPlan{NumBatches: ptr.To(int32(number))}
	if partition >= 0 {
		p.BatchPartition = ptr.To(int32(partition))
	}
	return p
}

// say notes what happened besides the writes of the manager.
func (s *simulation) say(format string, args ...any) {
	s.notes = append(s.notes, note{len(s.Server.Log()), s.Clock.Now(), fmt.Sprintf(format, args...)})
}

func (s *simulation) app() *oamv1beta1.Application { return typed(s.Set()) }

// creates stores an application, as a user does.
func (s *simulation) creates(plan *rolloutv1alpha1.RolloutPlan, components ...oamv1beta1.ApplicationComponent) {
	app := &oamv1beta1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: world.Namespace, Name: world.SetName},
		Spec:       oamv1beta1.ApplicationSpec{Components: components, RolloutPlan: plan},
	}
	if s.template {
		app.Annotations = map[string]string{oamv1beta1.AnnotationRolloutTemplate: "true"}
	}
	s.say("user      creates the application: %s", describe(app))
	s.Create(app)
}

// edit is a write of the application by a person.
func (s *simulation) edit(change func(*oamv1beta1.Application)) {
	s.Edit(func(o client.Object) { change(typed(o)) })
	s.say("user      wants %s", describe(s.app()))
}

// releases another version of the first component.
func (s *simulation) releases(version string) {
	s.edit(func(a *oamv1beta1.Application) {
		a.Spec.Components[0].Properties = component("", "", version).Properties
	})
}

func (s *simulation) rollout(name string) *oamv1beta1.AppRollout {
	r, _ := s.Server.Get(api.AppRollouts, types.NamespacedName{Namespace: world.Namespace, Name: name}).(*oamv1beta1.AppRollout)
	return r
}

// rolls creates an AppRollout, or changes the one of that name, as a person does.
func (s *simulation) rolls(source, target string, plan *rolloutv1alpha1.RolloutPlan) {
	spec := oamv1beta1.AppRolloutSpec{SourceAppRevisionName: source, TargetAppRevisionName: target, RolloutPlan: *plan}
	s.say("user      asks for a rollout: %s", asks(&spec))
	if s.rollout(byHand) == nil {
		s.Must(s.Server.Create("user", &oamv1beta1.AppRollout{ObjectMeta: metav1.ObjectMeta{Namespace: world.Namespace, Name: byHand}, Spec: spec}))
		return
	}
	s.Must(s.Server.Modify("user", api.AppRollouts, types.NamespacedName{Namespace: world.Namespace, Name: byHand}, api.Main, func(o client.Object) {
		o.(*oamv1beta1.AppRollout).Spec = spec
	}))
}

// byHand is the name of the AppRollout that people write.
const byHand = "by-hand"

func (s *simulation) remove(stored api.Kind, name string) {
	s.say("user      deletes %s %s", stored, name)
	if err := s.Server.Delete("user", stored, types.NamespacedName{Namespace: world.Namespace, Name: name}, nil, nil); err != nil {
		panic(fmt.Sprintf("the user's deletion failed: %v", err))
	}
}

// step lets one thing happen; false when there is nothing.
func (s *simulation) step() bool {
	for _, stored := range api.Kinds() {
		if s.Manager.Cache.Pending(stored) > 0 {
			s.Manager.Deliver(stored)
			return true
		}
	}
	if len(s.Manager.Queued()) > 0 {
		if err := s.Manager.Reconcile(); err != nil {
			s.judge.Accuse(err)
		}
		return true
	}
	if act := s.kube.Step(); act != nil {
		act()
		return true
	}
	if o := s.Orphan(); o != nil {
		s.Collect(o)
		return true
	}
	for _, pod := range s.Pods() {
		switch {
		case pod.Spec.NodeName == "" && world.Active(pod):
			s.Bind(pod)
			return true
		case s.Kubelet[pod.UID].Busy:
			s.StepNode(pod)
			return true
		}
	}
	if act := s.scaler.next(); act != nil {
		act()
		return true
	}
	return false
}

// until lets things happen until something is so. It is an error when that does not come.
func (s *simulation) until(what string, is func() bool) error {
	start := s.Clock.Now()
	for range patience {
		if err := s.judge.Violation(); err != nil {
			return err
		}
		if is() {
			return nil
		}
		if s.step() {
			continue
		}
		at, some := s.NextAlarm()
		if !some || at.Sub(start) > time.Hour {
			break
		}
		s.Advance(max(at.Sub(s.Clock.Now()), 0))
	}
	return fmt.Errorf("waited for: %s; %s", what, s.World.Summary())
}

// rest lets things happen until nothing does any more.
func (s *simulation) rest() error {
	judged, since := len(s.Server.Log()), s.Clock.Now()
	for range patience {
		if err := s.judge.Violation(); err != nil {
			return err
		}
		if s.step() {
			for _, w := range s.Server.Log()[judged:] {
				if w.Actor != "node" && (w.Subresource != api.Status || w.Kind == api.AppRollouts || w.Kind == api.Applications) {
					since = s.Clock.Now()
				}
			}
			judged = len(s.Server.Log())
			continue
		}
		at, some := s.NextAlarm()
		if !some || s.Clock.Now().Sub(since) > quiet {
			return s.judge.Violation()
		}
		s.Advance(max(at.Sub(s.Clock.Now()), 0))
	}
	return fmt.Errorf("nothing comes to rest; %s", s.World.Summary())
}
