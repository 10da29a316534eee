// SPDX-License-Identifier: Apache-2.0

package world

import (
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/node"
	"slipway.dev/slipway/test/simulation/api"
)

// Users are those who have a set of one kind, as a random story tells of them.
type Users interface {
	// Begin is called when the world is there, to make the first set.
	Begin()
	// EditOnce changes the spec, or makes and deletes sets, at any time.
	EditOnce()
	// DisturbPod is one misfortune of a pod.
	DisturbPod(pod *corev1.Pod)
	// Chores are what users do at any time, also when all is calm.
	Chores(add func(weight int, do func()))
	// Overtake edits the set so that pods set out for a release.
	Overtake()
	// LastEdit asks for something that can be reached.
	LastEdit()
	// Converged compares the world with what was asked for last.
	Converged() error
}

// Watchful users look at what has come to a standstill, whether or not it is what they want.
type Watchful interface {
	// Calms is called when the storm is over, before the world comes to a standstill.
	Calms()
	StandsStill() error
}

// Story is one random story.
type Story struct {
	*World
	Theme    Theme
	Releases []Release // every template so far, for rolling back
	Weights  Weights
	Calm     bool
	// What may still happen: edits of the spec, misfortunes of pods, deaths of the manager.
	Edits, Misfortunes, Deaths int

	users Users
}

// NewStory is the story of a seed on a theme, or on one of the themes when it is empty.
func NewStory(seed uint64, theme Theme, themes []Theme, kind Kind, tell func(format string, args ...any)) *Story {
	s := &Story{World: New(seed, kind, tell)}
	if s.Theme = themes[s.Random.IntN(len(themes))]; theme != "" {
		s.Theme = theme
	}
	s.Weights = drawWeights(s.Random)
	s.Edits, s.Misfortunes, s.Deaths = 2+s.Random.IntN(7), s.Random.IntN(6), max(s.Random.IntN(6)-2, 0)
	s.Model, s.Latency = drawModel(s.Random), []int{0, 10, 40}[s.Random.IntN(3)]
	s.Manager.guarded = seed%50 == 0
	if s.About(Draining) {
		s.Weights.Resend, s.Weights.Node, s.Weights.Time = 20, 5, 4
		s.Weights.Edit, s.Edits = max(s.Weights.Edit, 2), s.Edits+2
	}
	s.Tell("-- a story about %s", s.Theme)
	return s
}

// Play lets the users and everybody else act until the end. It returns the first violation, with what had happened at that point.
func (s *Story) Play(users Users) error {
	s.users = users
	users.Begin()
	s.Manager.Start(nil)
	if s.Random.IntN(2) == 0 { // half of the stories begin in the middle of a life, the others at birth
		if err := s.Settle(); err != nil {
			return err
		}
	}
	if err := s.storm(); err != nil {
		return err
	}
	return s.ending()
}

// About tells whether the story is about one of the themes.
func (s *Story) About(themes ...Theme) bool { return slices.Contains(themes, s.Theme) }

// Theme is what a story is about more than others. It makes things likelier and rules nothing out: whatever the theme, everything may
// happen. Faults that need several features at once would otherwise show in one story of a thousand.
type Theme string

// Themes that other actors than the users know.
const (
	Anything Theme = "anything"
	Hooked   Theme = "hooks"
	Claiming Theme = "claims"
	Draining Theme = "grace periods and late nodes"
	Together Theme = "everything together" // all features are on from the beginning
)

// Weights say how often each kind of thing happens, as parts of their sum. They vary by seed: one story has a cache that lags
// far behind, another one slow nodes, a third one a manager that keeps dying.
type Weights struct {
	Deliver, Reconcile, Node, Bind, Collect, Edit, Disturb, Crash, Time, Hook, Resend int
	Faults                                                                            int // of 100 reconciles
}

func drawWeights(r *rand.Rand) Weights {
	some := func(values ...int) int { return values[r.IntN(len(values))] }
	return Weights{
		Deliver: some(2, 10, 30), Reconcile: some(5, 10, 30), Node: some(5, 20, 40), Bind: 20, Collect: 10,
		Edit: some(1, 2, 6), Disturb: 1, Crash: 1, Time: some(1, 2, 4), Hook: some(0, 1, 5, 20),
		Faults: some(0, 5, 25), Resend: some(0, 0, 5, 20),
	}
}

// StormSteps is how many things happen before everything calms down.
const stormSteps = 250

// TooMuch is CPU that no node can give to a living pod.
const TooMuch = "9"

func drawModel(r *rand.Rand) node.Model {
	some := func(values ...int) time.Duration { return time.Duration(values[r.IntN(len(values))]) * time.Second }
	return node.Model{
		StartDelay: some(0, 0, 1), ReadyDelay: some(0, 0, 2, 5), RestartDelay: some(0, 1, 1, 3), ShutdownDelay: some(0, 0, 1, 20),
		ResizeDelay: some(0, 0, 2), Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		CrashAfter: some(0, 2), BackOff: 10 * time.Second, MaxBackOff: 5 * time.Minute,
	}
}

func (s *Story) storm() error {
	for range stormSteps {
		if !s.Next() {
			break
		}
		if err := s.Bench.Violation(); err != nil {
			return err
		}
	}
	return s.Bench.Violation()
}

// choice is one thing that may happen next.
type choice struct {
	weight int
	do     func()
}

// Next lets one thing happen; false when there is nothing.
func (s *Story) Next() bool {
	choices := s.choices()
	total := 0
	for _, c := range choices {
		total += c.weight
	}
	if total == 0 {
		return false
	}
	n := s.Random.IntN(total)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			c.do()
			return true
		}
	}
	return false
}

// hooks are those of the set.
func (s *Story) hooks() kruisev1alpha1.Lifecycle {
	if s.Set() == nil {
		return kruisev1alpha1.Lifecycle{}
	}
	sets, is := s.Kind.(SetKind)
	if !is {
		return kruisev1alpha1.Lifecycle{}
	}
	asks := sets.Asks(s.Set())
	if asks.ByGate { // their owners are actors of the kind
		return kruisev1alpha1.Lifecycle{}
	}
	return asks.Hooks
}

func (s *Story) choices() []choice {
	choices := make([]choice, 0, 24)
	add := func(weight int, do func()) {
		if weight > 0 {
			choices = append(choices, choice{weight, do})
		}
	}
	for _, kind := range api.Kinds() {
		if s.Manager.Cache.Pending(kind) > 0 {
			add(s.Weights.Deliver, func() { s.Manager.Deliver(kind) })
		}
	}
	for _, item := range s.Manager.Queued() {
		add(s.Weights.Reconcile, func() { s.reconcileWith(item, s.drawFault()) })
	}
	pods, hooks := s.Pods(), s.hooks()
	for _, pod := range pods {
		s.provide(add, pod, hooks)
		switch k := s.Kubelet[pod.UID]; {
		case pod.Spec.NodeName == "" && Active(pod) && (!s.HasVolumes(pod) || s.Waits(pod)):
		case pod.Spec.NodeName == "" && Active(pod):
			add(s.Weights.Bind, func() { s.Bind(pod) })
		case k.Busy:
			add(s.Weights.Node, func() { s.StepNode(pod) })
		}
	}
	if o := s.Orphan(); o != nil {
		add(s.Weights.Collect, func() { s.Collect(o) })
	}
	if c := s.Unused(); c != nil {
		add(s.Weights.Collect, func() { s.Unprotect(c) })
	}
	if c := s.Unmet(); c != nil {
		add(s.Weights.Collect, func() { s.Meet(c) })
	}
	s.users.Chores(add)
	if !s.Calm {
		s.mischief(add, pods)
	}
	return choices
}

// mischief is what happens only in the storm.
func (s *Story) mischief(add func(int, func()), pods []*corev1.Pod) {
	add(s.Weights.Time, s.passTime)
	if s.Edits > 0 {
		add(s.Weights.Edit, s.users.EditOnce)
	}
	if len(pods) > 0 && s.Misfortunes > 0 {
		add(s.Weights.Disturb, func() { s.users.DisturbPod(pods[s.Random.IntN(len(pods))]) })
	}
	if claims := s.Claims(); len(claims) > 0 && s.Misfortunes > 0 {
		add(s.Weights.Disturb, func() { s.DisturbClaim(claims[s.Random.IntN(len(claims))]) })
	}
	for _, pod := range pods {
		if k := s.Kubelet[pod.UID]; k.contradicts(pod) {
			add(s.Weights.Resend, func() { s.resend(pod, k) })
		}
	}
	if s.Deaths > 0 {
		add(s.Weights.Crash, s.crash)
	}
}

// DeleteSet deletes the set, as a user does.
func (s *Story) DeleteSet() {
	s.Remove(s.Kind.Stored(), SetName)
	s.Edits++ // to make a new one
}

func (s *Story) passTime() {
	d := time.Duration(1+s.Random.IntN(3)) * time.Second
	if at, some := s.NextAlarm(); some && s.Random.IntN(2) == 0 {
		d = max(at.Sub(s.Clock.Now()), time.Second)
	}
	s.Tell("time: %s passes", d)
	s.Advance(d)
}

// crash replaces the manager. Sometimes its new caches start from a list that is older than what the old ones knew already, as
// a lagging API server may serve it.
func (s *Story) crash() {
	s.Deaths--
	if s.Random.IntN(2) == 0 {
		s.Tell("manager: is killed and starts again")
		s.Noted["the manager is killed"] = true
		s.Manager.Start(nil)
		return
	}
	s.Tell("manager: is killed and starts again with an old view")
	s.Noted["the manager is killed and starts with an old view"] = true
	s.Bench.Reborn()
	s.Manager.Start(func(kind api.Kind) int {
		n := len(s.Server.History(kind))
		if n == 0 && kind >= api.Applications {
			return 0 // a story that knows nothing of these is told as it was before there were any
		}
		return n - min(n, s.Random.IntN(12))
	})
}

func (s *Story) drawFault() fault {
	if s.Calm || s.Random.IntN(100) >= s.Weights.Faults {
		return fault{}
	}
	return fault{kind: faultKind(1 + s.Random.IntN(int(faultKinds)-1)), n: s.Random.IntN(5)}
}

func (s *Story) reconcileWith(item Item, f fault) {
	if err := s.Manager.reconcile(item, f); err != nil {
		s.Bench.Accuse(err)
	}
}

// AllHealthy tells whether pods of every release so far become ready.
func (s *Story) AllHealthy() bool {
	return !slices.ContainsFunc(s.Releases, func(r Release) bool { return !r.Healthy() })
}

// Still is a world in which nothing happens by chance until somebody asks for it.
func Still(seed uint64, kind Kind, tell func(format string, args ...any)) *Story {
	return &Story{World: New(seed, kind, tell)}
}
