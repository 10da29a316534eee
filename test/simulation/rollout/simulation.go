// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/hook"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/chronicle"
	"slipway.dev/slipway/test/simulation/kube"
	"slipway.dev/slipway/test/simulation/world"
)

// template is the metric template that all metrics use.
const template = "errors"

// cells are the units of a CafeDeployment.
var cells = []string{"A", "B"}

const cellLabel = "cafe.sofastack.io/cell"

// simulation is an orderly world with rollouts.
type simulation struct {
	*world.Orderly
	*chronicle.Chronicle
	*kind
	kube *kube.Controllers
	// full: no node has room for another pod.
	full bool
	// errors are what the metric gives.
	errors float64
}

func newSimulation(of subject, mutation Hooks) *simulation {
	k := &kind{subject: of, mutation: mutation}
	s := &simulation{Orderly: world.NewOrderly(k), kind: k}
	s.furnish(s.World)
	s.Chronicle = chronicle.Of(s.World)
	s.kube = &kube.Controllers{World: s.World}
	s.Wakes, s.Besides = s.kube.Wakes, s.others
	s.Place = func(pod *corev1.Pod) (string, bool) { return place(s.World, pod, s.full) }
	s.Quiet = 10 * time.Minute
	s.Manager.Start(nil)
	return s
}

// furnish gives a world five nodes in two cells, and a metric template.
func (k *kind) furnish(w *world.World) {
	for n := range 5 {
		if n < 3 { // these are there already
			w.Must(w.Server.Modify("user", api.Nodes, types.NamespacedName{Name: fmt.Sprintf("node-%d", n)}, api.Main, func(o client.Object) {
				o.SetLabels(map[string]string{cellLabel: cells[n%2]})
			}))
			continue
		}
		newNode(w, n)
	}
	w.Must(w.Server.Create("user", &rolloutv1alpha1.MetricTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: world.Namespace, Name: template},
		Spec: rolloutv1alpha1.MetricTemplateSpec{
			Provider: rolloutv1alpha1.MetricProvider{Type: rolloutv1alpha1.PrometheusProvider, Address: "http://prometheus.test"}, Query: "errors",
		},
	}))
}

func newNode(w *world.World, n int) {
	w.Must(w.Server.Create("user", &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("node-%d", n), Labels: map[string]string{cellLabel: cells[n%2]},
	}}))
}

// place is the node with the fewest pods in the cell that a pod is for.
func place(w *world.World, pod *corev1.Pod, full bool) (string, bool) {
	onNode, best := map[string]int{}, ""
	for _, other := range w.Pods() {
		onNode[other.Spec.NodeName]++
	}
	cell := pod.Labels["cafe.sofastack.io/unit"]
	for _, o := range w.Server.List(api.Nodes) {
		if n := o.GetName(); (cell == "" || o.GetLabels()[cellLabel] == cell) && (best == "" || onNode[n] < onNode[best]) {
			best = n
		}
	}
	return best, !full && best != ""
}

func (s *simulation) trait() *rolloutv1alpha1.RolloutTrait { return typed(s.Set()) }

func (s *simulation) workload(name string) client.Object {
	return s.Server.Get(s.stored, types.NamespacedName{Namespace: world.Namespace, Name: name})
}

// change is a write of a workload by somebody who is not the manager.
func (s *simulation) change(name string, change func(client.Object)) {
	s.Must(s.Server.Modify("user", s.stored, types.NamespacedName{Namespace: world.Namespace, Name: name}, api.Main, change))
}

// edit is a write of the plan by a person.
func (s *simulation) edit(says string, change func(*rolloutv1alpha1.RolloutTrait)) {
	s.Say("user      %s", says)
	s.Must(s.Server.Modify("user", api.RolloutTraits, world.TheSet, api.Main, func(o client.Object) { change(typed(o)) }))
}

// tells is what a person says by an annotation about the try that is under way.
func (s *simulation) tells(key string) {
	says := key[strings.LastIndex(key, "/")+1:]
	s.edit("says "+says, func(t *rolloutv1alpha1.RolloutTrait) {
		t.Annotations = world.Merged(t.Annotations, key, t.Status.Take())
	})
}

// others answer for webhooks and metrics, and then the controllers of Kubernetes act.
func (s *simulation) others() func() {
	if r := s.calls.open(); r != nil {
		return func() {
			s.judge.called(r.key, true)
			s.calls.answer(r, hook.Answer{Passed: true})
		}
	}
	if r := s.samples.open(); r != nil {
		return func() {
			s.judge.measured(r.key, s.errors <= errorsAllowed)
			s.samples.answer(r, measure.Of(s.errors))
		}
	}
	s.kube.Stopped = s.stopped
	return s.kube.Step()
}

// replicas is a number in a spec.
func replicas(n int) *int32 { return ptr.To(int32(n)) }

// stateOf tells the state of a rollout.
func stateOf(t *rolloutv1alpha1.RolloutTrait) string {
	if t == nil {
		return "gone"
	}
	return chronicle.StateOf(&t.Status)
}
