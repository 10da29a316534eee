// SPDX-License-Identifier: Apache-2.0

package errand

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// retry is the time between two tries: from 1 to 1.5 s after the first, doubled with each, and at most 30 s.
var retry = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 20 * time.Second}

// Desk sends out the errands of one controller, and keeps what comes of them. Its methods are safe for concurrent use and
// never block. Errands begin to run when the manager has started the desk, which it does once it leads.
type Desk[A any] struct {
	clock clock.Clock
	log   logr.Logger
	last  func()

	mu      sync.Mutex
	ctx     context.Context // of the errands; nil before the start
	ended   bool
	owners  map[types.NamespacedName]*errands[A]
	queue   workqueue.TypedRateLimitingInterface[ctrl.Request] // nil before the controller has started
	unheard map[types.NamespacedName]bool                      // who was to be woken before there was a queue
	running sync.WaitGroup
}

// errands are those of one owner.
type errands[A any] struct {
	uid types.UID
	by  map[string]*run[A]
}

// run is an errand that was begun.
type run[A any] struct {
	errand Errand[A]
	report Report[A]
	cancel context.CancelFunc
}

var (
	_ manager.Runnable               = &Desk[int]{}
	_ manager.LeaderElectionRunnable = &Desk[int]{}
)

// NewDesk returns a desk; it has to be added to the manager. Once the manager ends and the last errand has ended, it calls
// last, if there is one.
func NewDesk[A any](clock clock.Clock, log logr.Logger, last func()) *Desk[A] {
	return &Desk[A]{
		clock: clock, log: log, last: last,
		owners: map[types.NamespacedName]*errands[A]{}, unheard: map[types.NamespacedName]bool{},
	}
}

// NeedLeaderElection makes the manager that leads the only one that runs errands.
func (d *Desk[A]) NeedLeaderElection() bool { return true }

// Start runs errands until the context ends. It returns when all of them have ended.
func (d *Desk[A]) Start(ctx context.Context) error {
	d.mu.Lock()
	d.ctx = ctx
	for name, of := range d.owners {
		for _, r := range of.by {
			d.launch(Owner{name, of.uid}, r)
		}
	}
	d.mu.Unlock()

	<-ctx.Done()
	d.mu.Lock()
	d.ended = true
	clear(d.owners)
	d.mu.Unlock()
	d.running.Wait()
	if d.last != nil {
		d.last()
	}
	return nil
}

// Source wakes the owner of an errand in the queue of a controller after each try. A controller that is busy, or not started
// yet, misses nothing. There is one controller for a desk.
func (d *Desk[A]) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.queue = queue
		for name := range d.unheard {
			queue.Add(ctrl.Request{NamespacedName: name})
		}
		clear(d.unheard)
		return nil
	})
}

// Begin sends out an errand. One of the same key that is under way, or has an answer, is left alone; see Errand.Version. What
// an earlier object of the owner's name had begun is forgotten. After the desk has ended, it does nothing.
func (d *Desk[A]) Begin(owner Owner, e Errand[A]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	of := d.of(owner)
	if of == nil {
		of = &errands[A]{uid: owner.UID, by: map[string]*run[A]{}}
		d.owners[owner.NamespacedName] = of
	}
	if r := of.by[e.Key]; r != nil {
		if r.report.State == Answered || r.errand.Version == e.Version {
			return
		}
		r.cancel()
	}
	r := &run[A]{errand: e, report: Report[A]{State: UnderWay}, cancel: func() {}}
	of.by[e.Key] = r
	if d.ctx != nil {
		d.launch(owner, r)
	}
}

// Look returns what came of an errand so far.
func (d *Desk[A]) Look(owner Owner, key string) Report[A] {
	d.mu.Lock()
	defer d.mu.Unlock()
	if of := d.of(owner); of != nil && of.by[key] != nil {
		return of.by[key].report
	}
	return Report[A]{State: None}
}

// Reports are what came of all errands of an owner so far, by their keys.
func (d *Desk[A]) Reports(owner Owner) map[string]Report[A] {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := map[string]Report[A]{}
	if of := d.of(owner); of != nil {
		for key, r := range of.by {
			found[key] = r.report
		}
	}
	return found
}

// Keep forgets all errands of the owner but those of the keys. What is under way is cancelled.
func (d *Desk[A]) Keep(owner Owner, keys ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := d.of(owner)
	if of == nil {
		return
	}
	for key, r := range of.by {
		if !slices.Contains(keys, key) {
			r.cancel()
			delete(of.by, key)
		}
	}
	if len(of.by) == 0 {
		delete(d.owners, owner.NamespacedName)
	}
}

// Forget forgets all errands of an owner that is gone. What is under way is cancelled.
func (d *Desk[A]) Forget(name types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if of := d.owners[name]; of != nil {
		d.drop(name, of)
	}
}

// of returns the errands of an owner, if it has some; those of an earlier object of its name are dropped. The lock is held.
func (d *Desk[A]) of(owner Owner) *errands[A] {
	of := d.owners[owner.NamespacedName]
	if of != nil && of.uid != owner.UID {
		d.drop(owner.NamespacedName, of)
		return nil
	}
	return of
}

// drop cancels and forgets errands. The lock is held.
func (d *Desk[A]) drop(name types.NamespacedName, of *errands[A]) {
	for _, r := range of.by {
		r.cancel()
	}
	delete(d.owners, name)
}

// launch has an errand run. The lock is held.
func (d *Desk[A]) launch(owner Owner, r *run[A]) {
	log := d.log.WithValues("owner", owner.String(), "errand", r.errand.Key)
	ctx, cancel := context.WithCancel(logr.NewContext(d.ctx, log))
	r.cancel = cancel
	d.running.Go(func() {
		defer cancel()
		d.carryOut(ctx, owner, r)
	})
}

func (d *Desk[A]) carryOut(ctx context.Context, owner Owner, r *run[A]) {
	next := retry
	for ctx.Err() == nil {
		attempt := try(ctx, r.errand)
		if !d.note(ctx, owner, r, attempt) || attempt.done {
			return
		}
		timer := d.clock.NewTimer(max(next.Step(), min(attempt.after, MaxAfter)))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C():
		}
	}
}

// try keeps an errand that panics from ending the manager, and with it all other rollouts.
func try[A any](ctx context.Context, e Errand[A]) (attempt Attempt[A]) {
	defer func() {
		if cause := recover(); cause != nil {
			logr.FromContextOrDiscard(ctx).Error(fmt.Errorf("panic: %v", cause), "an errand is broken", "stack", string(debug.Stack()))
			attempt = Again[A]("the manager could not deal with the answer: see its log", 0)
		}
	}()
	return e.Try(ctx)
}

// note keeps what came of a try, and wakes the owner, also when it is the same as before: who gives up after some tries has to
// count them. It tells whether anybody still wants to know.
func (d *Desk[A]) note(ctx context.Context, owner Owner, r *run[A], attempt Attempt[A]) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil { // it was forgotten or replaced, or the manager ends; what it found may be of that
		return false
	}
	r.report.Tries++
	r.report.Said = attempt.said
	if attempt.done {
		r.report.State, r.report.Answer = Answered, attempt.answer
	}
	if d.queue == nil {
		d.unheard[owner.NamespacedName] = true
	} else {
		d.queue.Add(ctrl.Request{NamespacedName: owner.NamespacedName})
	}
	return true
}
