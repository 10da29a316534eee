// SPDX-License-Identifier: Apache-2.0

package world

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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/simulation/api"
)

// Manager is the program under test with its work queue. A crash replaces everything in it but the queue's owner.
type Manager struct {
	World  *World
	Cache  *api.Cache // what the running process sees
	Queued bool
	Starts int // of processes so far
	// OnPlan is told every plan; it may be nil.
	OnPlan func(Plan)

	reconciler reconcile.Reconciler
	due        time.Time // when the set is queued by time; zero for never
	failures   int       // in a row, for the back-off
	line       *unreliable
	guarded    bool
}

// Start brings up a new process. Its cache begins at the given point of each kind's history; nil is the present.
func (m *Manager) Start(from func(api.Kind) int) {
	w := m.World
	m.Starts++
	m.Cache = api.NewCache(w.Server, indexes(), from)
	m.Cache.Shuffle(func(o []client.Object) { w.Random.Shuffle(len(o), func(i, k int) { o[i], o[k] = o[k], o[i] }) })
	if m.guarded {
		m.Cache.Guard()
	}
	w.Judge.begin(m.Cache, TheSet)
	m.line = &unreliable{Client: w.Server.Client(Actor), after: w.Judge.look, live: w.Judge.readLive, note: func(kind faultKind, what string) {
		w.Tell("fault: %s of the %s", kind, what)
		w.Noted[fmt.Sprintf("a write has a fault: %s", kind)] = true
	}}
	m.reconciler = w.Kind.New(m)
	m.Queued, m.due, m.failures = w.Set() != nil, time.Time{}, 0 // the first list queues everything
}

// Deliver tells the cache one write of a kind and queues the set when the write concerns it.
func (m *Manager) Deliver(kind api.Kind) {
	e, ok := m.Cache.Deliver(kind)
	if !ok {
		return
	}
	m.Queued = m.Queued || m.World.Kind.Concerns(e)
	m.World.Tell("cache: %s of %s %s, version %d by the %s", e.Verb, e.Kind, e.After.GetName(), e.Version, e.Actor)
}

// deliverBefore tells the cache everything that was written before the time.
func (m *Manager) deliverBefore(t time.Time) {
	for _, kind := range api.Kinds() {
		for w, some := m.Cache.Next(kind); some && w.Time.Before(t); w, some = m.Cache.Next(kind) {
			m.Deliver(kind)
		}
	}
}

// Concerns tells whether a write is of the set, or of an object that a set of that kind and name controls.
func Concerns(e api.Write, stored api.Kind, kind string) bool {
	if e.Kind == stored {
		return e.Key() == TheSet
	}
	for _, o := range []client.Object{e.Before, e.After} {
		if o == nil {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.Kind == kind && owner.Name == SetName {
			return true
		}
	}
	return false
}

// ring queues the set when its time has come.
func (m *Manager) ring(now time.Time) {
	if !m.due.IsZero() && !m.due.After(now) {
		m.Queued, m.due = true, time.Time{}
	}
}

func (m *Manager) after(d time.Duration) {
	at := m.World.Clock.Now().Add(Seconds(d))
	if m.due.IsZero() || at.Before(m.due) {
		m.due = at
	}
}

// errTampered marks a violation that no write shows.
var errTampered = errors.New("the reconciler changed an object of the cache")

// Reconcile handles the queued set once, without a fault.
func (m *Manager) Reconcile() error { return m.reconcile(fault{}) }

// reconcile handles the queued set once. The fault, if any, strikes during it.
func (m *Manager) reconcile(f fault) error {
	w := m.World
	m.Queued = false
	for _, kind := range api.Kinds() {
		if m.Cache.Pending(kind) > 0 {
			w.Noted["a reconcile looks at a stale cache"] = true
		}
	}
	w.Judge.begin(m.Cache, TheSet)
	m.line.strike(f)
	result, err := m.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: TheSet})
	crashed := m.line.crashed()
	m.line.strike(fault{})
	w.Judge.look()
	w.Notice()
	if m.guarded {
		if tampered := m.Cache.Tampered(); tampered != nil {
			return fmt.Errorf("%w: %w", errTampered, tampered)
		}
	}
	w.Tell("manager: reconciled%s; %s", outcome(result, err), w.Summary())
	switch {
	case crashed:
		w.Tell("manager: crashes in the middle")
		m.Start(nil)
	case err != nil:
		m.failures++
		m.after(min(5*time.Millisecond<<min(m.failures, 20), 1000*time.Second))
	default:
		m.failures = 0
		if result.RequeueAfter > 0 {
			m.after(result.RequeueAfter)
		}
	}
	return w.Judge.Err
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

// Plan is what the rest of the world wants to know of what was planned.
type Plan struct {
	Steps     []step.Step
	Held      string
	Throttled bool
}

// Planned is told by the kind what was planned.
func (m *Manager) Planned(p Plan) {
	m.World.Judge.Meant = p.Steps
	if p.Throttled {
		m.World.Noted["scaleStrategy.maxUnavailable holds creations back"] = true
	}
	if m.OnPlan != nil {
		m.OnPlan(p)
	}
}

// Line is the manager's connection to the API server.
func (m *Manager) Line() client.Client { return m.line }

// Silence drops events.
type Silence struct{}

var _ events.EventRecorder = Silence{}

// Eventf does nothing.
func (Silence) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
