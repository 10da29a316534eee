// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/cloneset"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/test/simulation/api"
)

// Hooks let a test put a fault into the manager.
type Hooks struct {
	// Plan replaces the planner; nil keeps it.
	Plan func(plan.World, time.Time) plan.Plan
	// Dependencies changes what a new manager process is made of; nil leaves it.
	Dependencies func(*cloneset.Dependencies)
}

// managerProcess is the program under test with its work queue. A crash replaces everything in it but the queue's owner.
type managerProcess struct {
	world *world
	hooks Hooks

	reconciler *cloneset.Reconciler
	cache      *api.Cache
	queued     bool
	due        time.Time // when the set is queued by time; zero for never
	failures   int       // in a row, for the back-off
	starts     int       // of processes so far
	line       *unreliable
	guarded    bool
	planned    func(plan.Plan) // is told every plan
}

// start brings up a new process. Its cache begins at the given point of each kind's history; nil is the present.
func (m *managerProcess) start(from func(api.Kind) int) {
	w := m.world
	m.starts++
	m.cache = api.NewCache(w.server, indexes(), from)
	m.cache.Shuffle(func(o []client.Object) { w.random.Shuffle(len(o), func(i, k int) { o[i], o[k] = o[k], o[i] }) })
	if m.guarded {
		m.cache.Guard()
	}
	w.judge.begin(m.cache, theSet)
	m.line = &unreliable{Client: w.server.Client(manager), after: w.judge.look, live: w.judge.readLive, note: func(kind faultKind, what string) {
		w.tell("fault: %s of the %s", kind, what)
		w.noted[fmt.Sprintf("a write has a fault: %s", kind)] = true
	}}
	next := plan.Next
	if m.hooks.Plan != nil {
		next = m.hooks.Plan
	}
	d := cloneset.Dependencies{
		Cache:  m.cache,
		Live:   m.line,
		Client: m.line,
		Events: silence{},
		Clock:  w.clock,
		Plan: func(world plan.World, now time.Time) plan.Plan {
			p := next(world, now)
			if p.Throttled {
				w.noted["scaleStrategy.maxUnavailable holds creations back"] = true
			}
			if m.planned != nil {
				m.planned(p)
			}
			return p
		},
		Concurrency: 1,
	}
	if m.hooks.Dependencies != nil {
		m.hooks.Dependencies(&d)
	}
	m.reconciler = cloneset.New(d)
	m.queued, m.due, m.failures = w.set() != nil, time.Time{}, 0 // the first list queues everything
}

// deliver tells the cache one write of a kind and queues the set when the write concerns it.
func (m *managerProcess) deliver(kind api.Kind) {
	e, ok := m.cache.Deliver(kind)
	if !ok {
		return
	}
	m.queued = m.queued || concerns(e)
	m.world.tell("cache: %s of %s %s, version %d by the %s", e.Verb, e.Kind, e.After.GetName(), e.Version, e.Actor)
}

// deliverBefore tells the cache everything that was written before the time.
func (m *managerProcess) deliverBefore(t time.Time) {
	for _, kind := range api.Kinds() {
		for w, some := m.cache.Next(kind); some && w.Time.Before(t); w, some = m.cache.Next(kind) {
			m.deliver(kind)
		}
	}
}

func concerns(e api.Write) bool {
	if e.Kind == api.CloneSets {
		return e.Key() == theSet
	}
	for _, o := range []client.Object{e.Before, e.After} {
		if o == nil {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.Kind == "CloneSet" && owner.Name == setName {
			return true
		}
	}
	return false
}

// ring queues the set when its time has come.
func (m *managerProcess) ring(now time.Time) {
	if !m.due.IsZero() && !m.due.After(now) {
		m.queued, m.due = true, time.Time{}
	}
}

func (m *managerProcess) after(d time.Duration) {
	at := m.world.clock.Now().Add(seconds(d))
	if m.due.IsZero() || at.Before(m.due) {
		m.due = at
	}
}

// errTampered marks a violation that no write shows.
var errTampered = errors.New("the reconciler changed an object of the cache")

// reconcile handles the queued set once. The fault, if any, strikes during it.
func (m *managerProcess) reconcile(f fault) error {
	w := m.world
	m.queued = false
	for _, kind := range api.Kinds() {
		if m.cache.Pending(kind) > 0 {
			w.noted["a reconcile looks at a stale cache"] = true
		}
	}
	w.judge.begin(m.cache, theSet)
	m.line.strike(f)
	result, err := m.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: theSet})
	crashed := m.line.crashed()
	m.line.strike(fault{})
	w.judge.look()
	w.notice()
	if m.guarded {
		if tampered := m.cache.Tampered(); tampered != nil {
			return fmt.Errorf("%w: %w", errTampered, tampered)
		}
	}
	w.tell("manager: reconciled%s; %s", outcome(result, err), w.summary())
	switch {
	case crashed:
		w.tell("manager: crashes in the middle")
		m.start(nil)
	case err != nil:
		m.failures++
		m.after(min(5*time.Millisecond<<min(m.failures, 20), 1000*time.Second))
	default:
		m.failures = 0
		if result.RequeueAfter > 0 {
			m.after(result.RequeueAfter)
		}
	}
	return w.judge.err
}

func outcome(r ctrl.Result, err error) string {
	switch {
	case err != nil:
		return " with an error: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	case r.RequeueAfter > 0:
		return fmt.Sprintf(", looks again in %s", r.RequeueAfter)
	}
	return ""
}

func indexes() map[string]api.Index {
	return map[string]api.Index{owned.OwnerIndex: owned.OwnerOf}
}

// silence drops events.
type silence struct{}

var _ events.EventRecorder = silence{}

// Eventf does nothing.
func (silence) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
