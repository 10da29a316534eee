// SPDX-License-Identifier: Apache-2.0

package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/owned"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/simulation/api"
)

// Manager is the program under test with its work queue. A crash replaces everything in it but the queue's owner.
type Manager struct {
	World  *World
	Cache  *api.Cache // what the running process sees
	Starts int        // of processes so far
	// OnPlan is told every plan; it may be nil.
	OnPlan func(Plan)

	running  []Controller
	queue    []Item
	due      map[Item]time.Time // when it is queued by time
	failures map[Item]int       // in a row, for the back-off
	line     *unreliable
	guarded  bool
}

// Item is what a controller is to look at.
type Item struct {
	Controller int
	types.NamespacedName
}

// Queued are the items that wait to be looked at, those that have waited longest first.
func (m *Manager) Queued() []Item { return slices.Clone(m.queue) }

func (m *Manager) enqueue(item Item) {
	if !slices.Contains(m.queue, item) {
		m.queue = append(m.queue, item)
	}
}

// Wake queues something for a controller that was found out beside the API.
func (m *Manager) Wake(item Item) { m.enqueue(item) }

// Start brings up a new process. Its cache begins at the given point of each kind's history; nil is the present.
func (m *Manager) Start(from func(api.Kind) int) {
	w := m.World
	m.Starts++
	m.Cache = api.NewCache(w.Server, indexes(), from)
	m.Cache.Shuffle(func(o []client.Object) { w.Random.Shuffle(len(o), func(i, k int) { o[i], o[k] = o[k], o[i] }) })
	if m.guarded {
		m.Cache.Guard()
	}
	w.Bench.Begin(m.Cache)
	m.line = &unreliable{Client: w.Server.Client(Actor), after: w.Bench.Look, live: w.Bench.Read, note: func(kind faultKind, what string) {
		w.Tell("fault: %s of the %s", kind, what)
		w.Noted[fmt.Sprintf("a write has a fault: %s", kind)] = true
	}}
	m.running = m.controllers(w.Kind)
	m.queue, m.due, m.failures = nil, map[Item]time.Time{}, map[Item]int{}
	m.queueAll() // as the first list does
}

func (m *Manager) queueAll() {
	for n, c := range m.running {
		for _, o := range m.Cache.All(c.Stored) {
			m.enqueue(Item{n, client.ObjectKeyFromObject(o)})
		}
	}
}

// Deliver tells the cache one write of a kind and queues what the write concerns.
func (m *Manager) Deliver(kind api.Kind) {
	e, ok := m.Cache.Deliver(kind)
	if !ok {
		return
	}
	for n, c := range m.running {
		for _, key := range c.Requests(e) {
			m.enqueue(Item{n, key})
		}
	}
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

// ring queues what has reached its time, in an order that does not depend on chance.
func (m *Manager) ring(now time.Time) {
	var rings []Item
	for item, at := range m.due {
		if !at.After(now) {
			rings = append(rings, item)
			delete(m.due, item)
		}
	}
	slices.SortFunc(rings, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.String(), b.String()))
	})
	for _, item := range rings {
		m.enqueue(item)
	}
}

// nextAlarm is when something is queued by time next; zero for never.
func (m *Manager) nextAlarm() time.Time {
	var next time.Time
	for _, at := range m.due {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

func (m *Manager) after(item Item, d time.Duration) {
	at := m.World.Clock.Now().Add(Seconds(d))
	if before, waits := m.due[item]; !waits || at.Before(before) {
		m.due[item] = at
	}
}

// errTampered marks a violation that no write shows.
var errTampered = errors.New("the reconciler changed an object of the cache")

// Reconcile looks at what has waited longest, without a fault. It is an error when nothing waits.
func (m *Manager) Reconcile() error {
	if len(m.queue) == 0 {
		return errIdle
	}
	return m.reconcile(m.queue[0], fault{})
}

// CrashAt looks at what has waited longest, and the process dies after its n-th write, counted from 0, and starts again. It is an error
// when nothing waits.
func (m *Manager) CrashAt(n int) error {
	if len(m.queue) == 0 {
		return errIdle
	}
	return m.reconcile(m.queue[0], fault{kind: crashAfter, n: n})
}

var errIdle = errors.New("nothing is queued")

// reconcile handles what is queued once. The fault, if any, strikes during it.
func (m *Manager) reconcile(item Item, f fault) error {
	w := m.World
	m.queue = slices.DeleteFunc(m.queue, func(queued Item) bool { return queued == item })
	for _, kind := range api.Kinds() {
		if m.Cache.Pending(kind) > 0 {
			w.Noted["a reconcile looks at a stale cache"] = true
		}
	}
	w.Bench.Begin(m.Cache)
	m.line.strike(f)
	result, err := m.running[item.Controller].Reconcile(context.Background(), ctrl.Request{NamespacedName: item.NamespacedName})
	crashed := m.line.crashed()
	m.line.strike(fault{})
	w.Bench.Look()
	w.Notice()
	if m.guarded {
		if tampered := m.Cache.Tampered(); tampered != nil {
			return fmt.Errorf("%w: %w", errTampered, tampered)
		}
	}
	w.Tell("manager: reconciled %s %s%s; %s", m.running[item.Controller].Stored, item.Name, outcome(result, err), w.Summary())
	switch {
	case crashed:
		w.Tell("manager: crashes in the middle")
		m.Start(nil)
	case err != nil:
		m.failures[item]++
		m.after(item, min(5*time.Millisecond<<min(m.failures[item], 20), 1000*time.Second))
	default:
		m.failures[item] = 0
		if result.RequeueAfter > 0 {
			m.after(item, result.RequeueAfter)
		}
	}
	return w.Bench.Violation()
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
	Steps []step.Step
	// Lines tell what was planned besides, for transcripts.
	Lines     []string
	Held      string
	Throttled bool
}

// Planned is told by the kind what was planned.
func (m *Manager) Planned(p Plan) {
	if m.World.Judge != nil {
		m.World.Judge.Meant = p.Steps
	}
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
