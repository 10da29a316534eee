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
	// template is the metric template that all metrics use.
	template = "errors"
)

// cells are the units of a CafeDeployment.
var cells = []string{"A", "B"}

const cellLabel = "cafe.sofastack.io/cell"

// simulation is a world with rollouts, in which nothing is late and nothing fails, and in which things happen in a fixed order.
type simulation struct {
	*world.World
	*kind
	kube *kube.Controllers
	// full: no node has room for another pod.
	full bool
	// errors are what the metric gives.
	errors float64
	notes  []note
	began  time.Time
}

// note is something that a person did, or that happened besides, at a place in the history.
type note struct {
	at   int
	time time.Time
	text string
}

func newSimulation(of subject, mutation Hooks) *simulation {
	k := &kind{subject: of, mutation: mutation}
	s := &simulation{World: world.New(1, k, nil), kind: k}
	s.Model = node.Model{ReadyDelay: 2 * time.Second, RestartDelay: time.Second, CrashAfter: time.Second, BackOff: 10 * time.Second, MaxBackOff: 5 * time.Minute}
	s.furnish(s.World)
	s.kube = &kube.Controllers{World: s.World}
	s.Wakes = s.kube.Wakes
	s.Place = func(pod *corev1.Pod) (string, bool) { return place(s.World, pod, s.full) }
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

// say notes what happened besides the writes of the manager.
func (s *simulation) say(format string, args ...any) {
	s.notes = append(s.notes, note{len(s.Server.Log()), s.Clock.Now(), fmt.Sprintf(format, args...)})
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
	s.say("user      %s", says)
	s.Must(s.Server.Modify("user", api.RolloutTraits, world.TheSet, api.Main, func(o client.Object) { change(typed(o)) }))
}

// tells is what a person says by an annotation about the try that is under way.
func (s *simulation) tells(key string) {
	says := key[strings.LastIndex(key, "/")+1:]
	s.edit("says "+says, func(t *rolloutv1alpha1.RolloutTrait) {
		t.Annotations = world.Merged(t.Annotations, key, t.Status.Take())
	})
}

func (s *simulation) remove(stored api.Kind, name string) {
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
	if r := s.calls.open(); r != nil {
		s.judge.called(r.key, true)
		s.calls.answer(r, hook.Answer{Passed: true})
		return true
	}
	if r := s.samples.open(); r != nil {
		s.judge.measured(r.key, s.errors <= errorsAllowed)
		s.samples.answer(r, measure.Of(s.errors))
		return true
	}
	s.kube.Stopped = s.stopped
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
		case pod.Spec.NodeName == "" && world.Active(pod) && s.Waits(pod):
		case pod.Spec.NodeName == "" && world.Active(pod):
			s.Bind(pod)
			return true
		case s.Kubelet[pod.UID].Busy:
			s.StepNode(pod)
			return true
		}
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
	return fmt.Errorf("waited for: %s; it is %s; %s", what, stateOf(s.trait()), s.World.Summary())
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
				if w.Actor != "node" && (w.Subresource != api.Status || w.Kind == api.RolloutTraits) {
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
	return fmt.Errorf("nothing comes to rest; it is %s; %s", stateOf(s.trait()), s.World.Summary())
}

// pass lets things happen for some time.
func (s *simulation) pass(d time.Duration) error {
	end := s.Clock.Now().Add(d)
	for range patience {
		if err := s.judge.Violation(); err != nil {
			return err
		}
		if s.step() {
			continue
		}
		at, some := s.NextAlarm()
		if !some || at.After(end) {
			s.Advance(end.Sub(s.Clock.Now()))
			return nil
		}
		s.Advance(max(at.Sub(s.Clock.Now()), 0))
	}
	return fmt.Errorf("%s do not pass", d)
}

// replicas is a number in a spec.
func replicas(n int) *int32 { return ptr.To(int32(n)) }

// stateOf tells the state of a rollout.
func stateOf(t *rolloutv1alpha1.RolloutTrait) string {
	if t == nil {
		return "gone"
	}
	st := &t.Status
	if st.RollingState != rolloutv1alpha1.RollingInBatchesState || st.Running == nil {
		return string(st.RollingState)
	}
	return fmt.Sprintf("batch %d of %d: %s", st.CurrentBatch+1, len(st.Running.RolloutBatches), st.BatchRollingState)
}
