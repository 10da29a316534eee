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
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/chronicle"
	"slipway.dev/slipway/test/simulation/kube"
	"slipway.dev/slipway/test/simulation/world"
)

// simulation is an orderly world with an application.
type simulation struct {
	*world.Orderly
	*chronicle.Chronicle
	*kind
	scaler *autoscaler
	// template: applications are made as templates of rollouts.
	template bool
}

func newSimulation(mutation Hooks) *simulation { return newWorld(mutation, true) }

// newWorld is a simulation. Judged, definitions say how components are, which takes time; else their pods alone do.
func newWorld(mutation Hooks, judged bool) *simulation {
	k := &kind{mutation: mutation}
	s := &simulation{Orderly: world.NewOrderly(k), kind: k}
	s.Chronicle = chronicle.Of(s.World)
	builtIn := &kube.Controllers{World: s.World}
	s.scaler = &autoscaler{World: s.World}
	s.Wakes, s.Besides, s.AtLast = wakes(builtIn, s.scaler), builtIn.Step, s.scaler.next
	s.Quiet = 10 * time.Minute
	define(s.World, judged)
	s.Manager.Start(nil)
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
	s.Say("user      creates the application: %s", describe(app))
	s.Create(app)
}

// edit is a write of the application by a person.
func (s *simulation) edit(change func(*oamv1beta1.Application)) {
	s.Edit(func(o client.Object) { change(typed(o)) })
	s.Say("user      wants %s", describe(s.app()))
}

// releases another version of the first component.
func (s *simulation) releases(version string) {
	s.edit(func(a *oamv1beta1.Application) {
		a.Spec.Components[0].Properties = component("", "", version).Properties
	})
}

// rolls creates an AppRollout, or changes the one of that name, as a person does.
func (s *simulation) rolls(source, target string, plan *rolloutv1alpha1.RolloutPlan) {
	spec := oamv1beta1.AppRolloutSpec{SourceAppRevisionName: source, TargetAppRevisionName: target, RolloutPlan: *plan}
	s.Say("user      asks for a rollout: %s", asks(&spec))
	ask(s.World, spec)
}

// byHand is the name of the AppRollout that people write.
const byHand = "by-hand"

func (s *simulation) removes(stored api.Kind, name string) {
	s.Say("user      deletes %s %s", stored, name)
	s.Remove(stored, name)
}

// ask creates the AppRollout that people write, or changes it.
func ask(w *world.World, spec oamv1beta1.AppRolloutSpec) {
	if rolloutOf(w, byHand) == nil {
		w.Must(w.Server.Create("user", &oamv1beta1.AppRollout{ObjectMeta: metav1.ObjectMeta{Namespace: world.Namespace, Name: byHand}, Spec: spec}))
		return
	}
	w.Must(w.Server.Modify("user", api.AppRollouts, types.NamespacedName{Namespace: world.Namespace, Name: byHand}, api.Main, func(o client.Object) {
		o.(*oamv1beta1.AppRollout).Spec = spec
	}))
}

// rolloutOf is the AppRollout of a name; nil for none.
func rolloutOf(w *world.World, name string) *oamv1beta1.AppRollout {
	r, _ := w.Server.Get(api.AppRollouts, types.NamespacedName{Namespace: world.Namespace, Name: name}).(*oamv1beta1.AppRollout)
	return r
}
