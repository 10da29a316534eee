// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/node"
	"slipway.dev/slipway/test/simulation/api"
)

// simulation is one random story.
type simulation struct {
	*world
	theme    Theme
	releases []Release // every template so far, for rolling back
	weights  weights
	calm     bool
	hooked   bool // the set begins with hooks
	claimed  bool // the set has claims, at least at times
	// What may still happen: edits of the spec, misfortunes of pods, deaths of the manager.
	edits, misfortunes, deaths int
}

// weights say how often each kind of thing happens, as parts of their sum. They vary by seed: one story has a cache that lags
// far behind, another one slow nodes, a third one a manager that keeps dying.
type weights struct {
	deliver, reconcile, node, bind, collect, edit, disturb, crash, time, hook int
	faults                                                                    int // of 100 reconciles
}

func drawWeights(r *rand.Rand) weights {
	some := func(values ...int) int { return values[r.IntN(len(values))] }
	return weights{
		deliver: some(2, 10, 30), reconcile: some(5, 10, 30), node: some(5, 20, 40), bind: 20, collect: 10,
		edit: some(1, 2, 6), disturb: 1, crash: 1, time: some(1, 2, 4), hook: some(0, 1, 5, 20),
		faults: some(0, 5, 25),
	}
}

// stormSteps is how many things happen before everything calms down.
const stormSteps = 250

// Run plays the story of a seed. It returns the first violation, with what had happened at that point; nil if there is none.
func Run(seed uint64, hooks Hooks, tell func(format string, args ...any)) error {
	_, err := play(seed, "", hooks, tell)
	return err
}

// play plays the story of a seed on a theme; without one, the seed has its own. It returns the world as the story left it.
func play(seed uint64, theme Theme, hooks Hooks, tell func(format string, args ...any)) (*simulation, error) {
	s := &simulation{world: newWorld(seed, hooks, tell)}
	if s.theme = drawTheme(s.random); theme != "" {
		s.theme = theme
	}
	s.weights = drawWeights(s.random)
	s.edits, s.misfortunes, s.deaths = 2+s.random.IntN(7), s.random.IntN(6), max(s.random.IntN(6)-2, 0)
	s.model, s.latency = drawModel(s.random), []int{0, 10, 40}[s.random.IntN(3)]
	s.manager.guarded = seed%50 == 0
	s.tell("-- a story about %s", s.theme)
	s.found()
	s.manager.start(nil)
	if s.random.IntN(2) == 0 { // half of the stories begin in the middle of a life, the others at birth
		if err := s.settle(); err != nil {
			return s, err
		}
	}
	if err := s.storm(); err != nil {
		return s, err
	}
	return s, s.ending()
}

// found creates the set that the story begins with.
func (s *simulation) found() {
	s.hooked = s.random.IntN(2) == 0
	first := s.firstRelease()
	s.releases = []Release{first}
	set := newSet(int32(1+s.random.IntN(6)), first)
	set.Spec.UpdateStrategy.Type = updateTypes[s.random.IntN(len(updateTypes))]
	if s.hooked {
		set.Spec.Lifecycle = s.randomLifecycle()
	}
	for range s.random.IntN(4) {
		s.randomEdit(set)
	}
	if s.claimed = s.random.IntN(4) == 0 || s.about(Claiming, Together); s.claimed {
		set.Spec.VolumeClaimTemplates = s.claimTemplates()
		set.Spec.ScaleStrategy.DisablePVCReuse = s.random.IntN(3) == 0
	}
	s.dwell(set)
	s.create(set)
}

// tooMuch is CPU that no node can give to a living pod.
const tooMuch = "9"

func drawModel(r *rand.Rand) node.Model {
	some := func(values ...int) time.Duration { return time.Duration(values[r.IntN(len(values))]) * time.Second }
	return node.Model{
		StartDelay: some(0, 0, 1), ReadyDelay: some(0, 0, 2, 5), RestartDelay: some(0, 1, 1, 3), ShutdownDelay: some(0, 0, 1, 20),
		ResizeDelay: some(0, 0, 2), Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		CrashAfter: some(0, 2), BackOff: 10 * time.Second, MaxBackOff: 5 * time.Minute,
	}
}

func (s *simulation) storm() error {
	for range stormSteps {
		if !s.next() {
			break
		}
		if s.judge.err != nil {
			return s.judge.err
		}
	}
	return s.judge.err
}

// choice is one thing that may happen next.
type choice struct {
	weight int
	do     func()
}

// next lets one thing happen; false when there is nothing.
func (s *simulation) next() bool {
	choices := s.choices()
	total := 0
	for _, c := range choices {
		total += c.weight
	}
	if total == 0 {
		return false
	}
	n := s.random.IntN(total)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			c.do()
			return true
		}
	}
	return false
}

func (s *simulation) choices() []choice {
	choices := make([]choice, 0, 24)
	add := func(weight int, do func()) {
		if weight > 0 {
			choices = append(choices, choice{weight, do})
		}
	}
	for _, kind := range api.Kinds() {
		if s.manager.cache.Pending(kind) > 0 {
			add(s.weights.deliver, func() { s.manager.deliver(kind) })
		}
	}
	if s.manager.queued {
		add(s.weights.reconcile, func() { s.reconcileWith(s.drawFault()) })
	}
	pods, hooks := s.pods(), hooksOf(s.set())
	for _, pod := range pods {
		s.provide(add, pod, hooks)
		switch k := s.kubelet[pod.UID]; {
		case pod.Spec.NodeName == "" && active(pod) && !s.hasVolumes(pod):
		case pod.Spec.NodeName == "" && active(pod):
			add(s.weights.bind, func() { s.bind(pod) })
		case k.busy:
			add(s.weights.node, func() { s.stepNode(pod) })
		}
	}
	if o := s.orphan(); o != nil {
		add(s.weights.collect, func() { s.collect(o) })
	}
	if c := s.unused(); c != nil {
		add(s.weights.collect, func() { s.unprotect(c) })
	}
	if !s.calm {
		s.mischief(add, pods)
	}
	return choices
}

// mischief is what happens only in the storm.
func (s *simulation) mischief(add func(int, func()), pods []*corev1.Pod) {
	add(s.weights.time, s.passTime)
	if s.edits > 0 {
		add(s.weights.edit, s.editOnce)
	}
	if len(pods) > 0 && s.misfortunes > 0 {
		add(s.weights.disturb, func() { s.disturbPod(pods[s.random.IntN(len(pods))]) })
	}
	if claims := s.claims(); len(claims) > 0 && s.misfortunes > 0 {
		add(s.weights.disturb, func() { s.disturbClaim(claims[s.random.IntN(len(claims))]) })
	}
	if s.deaths > 0 {
		add(s.weights.crash, s.crash)
	}
}

func (s *simulation) editOnce() {
	s.edits--
	if s.set() == nil {
		s.create(newSet(int32(1+s.random.IntN(6)), s.releases[0]))
		return
	}
	if s.random.IntN(40) == 0 {
		s.deleteSet()
		return
	}
	if s.claimed && s.random.IntN(4) == 0 {
		s.edit(s.editClaims)
		return
	}
	if !s.about(Anything) && s.random.IntN(2) == 0 {
		s.edit(s.themedEdit)
		return
	}
	s.edit(s.randomEdit)
}

func (s *simulation) deleteSet() {
	if err := s.server.Delete("user", api.CloneSets, theSet, nil, nil); err != nil {
		panic(fmt.Sprintf("the user's deletion failed: %v", err))
	}
	s.tell("user: deletes the set")
	s.edits++ // to make a new one
}

func (s *simulation) passTime() {
	d := time.Duration(1+s.random.IntN(3)) * time.Second
	if at, some := s.nextAlarm(); some && s.random.IntN(2) == 0 {
		d = max(at.Sub(s.clock.Now()), time.Second)
	}
	s.tell("time: %s passes", d)
	s.advance(d)
}

// crash replaces the manager. Sometimes its new caches start from a list that is older than what the old ones knew already, as
// a lagging API server may serve it.
func (s *simulation) crash() {
	s.deaths--
	if s.random.IntN(2) == 0 {
		s.tell("manager: is killed and starts again")
		s.noted["the manager is killed"] = true
		s.manager.start(nil)
		return
	}
	s.tell("manager: is killed and starts again with an old view")
	s.noted["the manager is killed and starts with an old view"] = true
	s.judge.reborn()
	s.manager.start(func(kind api.Kind) int {
		n := len(s.server.History(kind))
		return n - min(n, s.random.IntN(12))
	})
}

func (s *simulation) drawFault() fault {
	if s.calm || s.random.IntN(100) >= s.weights.faults {
		return fault{}
	}
	return fault{kind: faultKind(1 + s.random.IntN(int(faultKinds)-1)), n: s.random.IntN(5)}
}

func (s *simulation) reconcileWith(f fault) {
	if err := s.manager.reconcile(f); err != nil && s.judge.err == nil {
		s.judge.err = err
	}
}

func (s *simulation) allHealthy() bool {
	return !slices.ContainsFunc(s.releases, func(r Release) bool { return !r.Healthy() })
}

// goodEnd is the last edit: something that can be reached.
func (s *simulation) goodEnd() {
	if s.set() == nil {
		s.create(newSet(3, s.releases[0]))
	}
	s.edit(func(set *kruisev1alpha1.CloneSet) {
		u := &set.Spec.UpdateStrategy
		r := wanted(set)
		before, preparing := s.preparing()
		switch {
		case preparing && s.random.IntN(2) == 0:
			r = before
		case s.random.IntN(4) == 0 && s.releases[0].Healthy():
			r = s.releases[0] // back to where it began
		case !r.Healthy() || s.random.IntN(2) == 0:
			r.App = "final"
		}
		s.roll(set, r)
		u.Paused = false
		if s.about(Claiming) && s.random.IntN(2) == 0 { // claims go with the pods of the end
			set.Spec.Replicas = ptr.To(max(*set.Spec.Replicas-1, 0))
		}
		if u.Type == kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType || u.Type == kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType {
			u.Type = kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType
		}
		// The partition may keep a pod of a release that was given up and never got ready. Then the set stays as it is, as asked for.
		if !s.allHealthy() || s.random.IntN(2) == 0 {
			u.Partition = nil
		}
		if s.allHealthy() && s.random.IntN(5) == 0 { // updates that were prepared are called off
			u.Partition = number(s.random.IntN(7))
		}
	})
}
